//go:build !linux

package gateway

import "sync"

// porch has no ushers: every connection has a goroutine.
type porch struct{}

type usher struct{}

func newPorch() (porch, error) { return porch{}, nil }

func (porch) open(*sync.WaitGroup) {}
func (porch) close()               {}
func (porch) of(*conn) *usher      { return nil }
func (*usher) park(*conn) bool     { return false }
func (*usher) fetch(*conn) bool    { return false }
