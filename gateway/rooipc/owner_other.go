//go:build !unix

package rooipc

import (
	"errors"
	"io/fs"
)

// isOwn is not known here; see checkPeers.
func isOwn(fs.FileInfo) bool { return false }

// lockFolder is not known here; see checkPeers.
func lockFolder(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
