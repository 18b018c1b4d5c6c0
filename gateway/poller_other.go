//go:build !linux

package gateway

import "sync"

// pollers is empty on this system: every connection has a goroutine.
type pollers struct{}

type poller struct{}

func newPollers() (pollers, error) { return pollers{}, nil }

func (pollers) start(*sync.WaitGroup)   {}
func (pollers) close()                  {}
func (pollers) pollerFor(*conn) *poller { return nil }
func (*poller) park(*conn) bool         { return false }
func (*poller) unpark(*conn) bool       { return false }
