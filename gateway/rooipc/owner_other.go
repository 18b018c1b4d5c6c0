//go:build !unix

package rooipc

import "io/fs"

// isOwn is not known here; see checkPeers.
func isOwn(fs.FileInfo) bool { return false }
