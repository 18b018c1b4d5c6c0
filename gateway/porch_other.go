//go:build !linux

package gateway

import "sync"

// porch is none: every connection has a goroutine.
type porch struct{}

func newPorch() (porch, error) { return porch{}, nil }

func (porch) open(*sync.WaitGroup) {}
func (porch) close()               {}
func (porch) park(*conn) bool      { return false }
func (porch) fetch(*conn) bool     { return false }
