//go:build !linux

package gateway

import "sync"

// poller has no pollers: every connection has a goroutine.
type pollers struct{}

type poller struct{}

func newPollers() (pollers, error) { return pollers{}, nil }

func (pollers) open(*sync.WaitGroup)    {}
func (pollers) close()                  {}
func (pollers) pollerFor(*conn) *poller { return nil }
func (*poller) park(*conn) bool         { return false }
func (*poller) fetch(*conn) bool        { return false }
