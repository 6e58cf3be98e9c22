// Package sleeps is analyzed, not run.
package sleeps
