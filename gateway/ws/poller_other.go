//go:build !linux

package ws

import "sync"

// poller parks nothing on this system: every connection has a goroutine.
type poller struct{}

func newPoller(*sync.WaitGroup) (*poller, error) { return nil, nil } //nolint:nilnil // no poller is no error

func (*poller) park(pollable) bool   { return false }
func (*poller) unpark(pollable) bool { return false }
func (*poller) close()               {}
