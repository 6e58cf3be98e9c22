//go:build !unix

package crash

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }
func resume(*os.Process) error  { return errors.ErrUnsupported }
