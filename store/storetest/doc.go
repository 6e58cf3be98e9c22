// Package storetest is the conformance suite that each store must pass.
package storetest

import _ "pgregory.net/rapid"
