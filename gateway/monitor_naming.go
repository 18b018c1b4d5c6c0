package gateway

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/wire"
)

// The opcode mask for the first byte of a WebSocket frame, and the opcode of text.
const (
	opcodeMask = 0x0f
	opcodeText = 0x01
)

// detectMonitorNaming finds out how a desktop client written for YAAR names monitors: older ones
// send monitor-0, newer ones 0. Such clients subscribe to a monitor as soon as the connection is
// open, so the snapshot, which names monitors, waits for that frame. A client that sends nothing in
// time gets the older names. The frame is kept for [conn.readMessages]. detectMonitorNaming reports
// false when the connection is ending.
func (c *conn) detectMonitorNaming(ctx context.Context, w *connectRequest) bool {
	if len(w.monitors) > 0 {
		c.numbered = w.numbered
		return true
	}
	w.releaseGate() // other clients may connect while this one sends
	w.releaseGate = func() {}
	c.limitRead(time.Now().Add(c.s.cfg.Timeouts.Naming))
	first, err := c.headerReader.Peek(1)
	switch {
	case httpio.IsTimeout(err):
		err = nil
	case err == nil && first[0]&opcodeMask == opcodeText: // [conn.readMessages] handles other frames
		c.limitRead(time.Now().Add(c.s.cfg.Timeouts.Auth))
		err = c.readFrame(c.s.cfg.FrameBytes, func(frame []byte) {
			c.ensurePostponed().frame = bytes.Clone(frame)
			m, bad := c.decode(frame)
			c.numbered = bad == nil && wire.IsMonitorNumber(wire.MonitorOf(m.Data))
		})
		if errors.Is(err, errFrameTooBig) {
			c.refuse(ctx, &refusal{code: wire.CodeMessageTooLarge})
		}
	}
	c.limitRead(time.Time{})
	if err != nil || c.closeRequested.Load() != nil {
		return false
	}
	release, err := c.s.authGate.acquire(ctx)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	w.releaseGate = release
	return true
}
