//go:build !unix

package ws

// initRawConn does nothing on this system: the connection is read in small pieces.
func (*link) initRawConn() {}
