package pgtest

import (
	"crypto/rand"
	"strings"
)

// SchemaName is a name that nobody else uses, and that has to be quoted.
func SchemaName() string { return `t "` + strings.ToLower(rand.Text()) + `" \'` }
