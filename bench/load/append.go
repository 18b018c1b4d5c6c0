//go:build linux

package main

import (
	"context"
	"fmt"
)

const (
	// appendBytes is the size of an appended text, and fillBytes that of the texts that fill a window
	// before, both at most.
	appendBytes = 64
	fillBytes   = 32 << 10
	// appends is the number of measured appends to a window. A window of the largest size is full
	// after them.
	appends = 250
	// maxContent is the largest content of a window.
	maxContent = 1 << 20
)

// appendSizes are the sizes of the windows before the measured appends, in bytes.
func appendSizes() []int { return []int{1 << 10, 64 << 10, maxContent - appends*appendBytes} }

// appendVariants returns the servers, each with windows of all sizes.
func appendVariants(names ...string) []variant {
	var all []variant
	for _, v := range variants(names...) {
		for _, size := range appendSizes() {
			v.content = size
			all = append(all, v)
		}
	}
	return all
}

// appendText fills the window of each session and then appends to it, one text at a time.
func appendText(ctx context.Context, c *clients, _ options, r *result) error {
	for left := r.Content - bodySize; left > 0; left -= fillBytes { // prepare has appended the first text
		c.target.encoder = newAppendEncoder(min(left, fillBytes))
		if err := c.publishToAll(ctx); err != nil {
			return err
		}
	}
	c.target.encoder = newAppendEncoder(appendBytes)
	return c.measure(r, func() error {
		for range appends {
			if err := c.publishToAll(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// publishToAll publishes one event in each session and waits until all tabs have received it.
func (c *clients) publishToAll(ctx context.Context) error {
	for _, s := range c.sessions {
		if err := c.publish(s, 1, c.clock(), false); err != nil {
			return err
		}
	}
	return c.awaitDelivered(ctx)
}

// appendLimit is the wanted ratio of the cost of an append to a full window to that of an append to a
// small one.
const appendLimit = 1.3

// appendChecks compares the cost of appends between the sizes of windows.
func appendChecks() []check {
	sizes := appendSizes()
	at := func(store string, size int) key {
		return key{scenario: "append", server: "hub", store: store, protocol: plainProtocol, content: size}
	}
	var all []check
	for _, store := range []string{"file", "redis"} {
		for _, size := range sizes[1:] {
			full, small := at(store, size), at(store, sizes[0])
			what := fmt.Sprintf("append: window of %d KiB against one of %d KiB, %s: ", size>>10, sizes[0]>>10, store)
			all = append(all, check{what + "CPU", appendLimit, "×", ratio(full, small, allCPUFigure), false},
				check{what + "bytes", appendLimit, "×", ratio(full, small, writtenFigure), false})
		}
	}
	return all
}
