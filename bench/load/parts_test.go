//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// layout finds the tokens in envelopes of the real encoder.
func TestLayoutReadsHubEvents(t *testing.T) {
	t.Parallel()
	var y layout
	encode := func(at wire.Position, data wire.ServerPayload) []byte {
		return wire.AppendEvent(nil, wire.Event{Session: "ses-1", At: at, Time: time.Unix(1, 0), Data: data})
	}
	content := func(s string) wire.Actions {
		return wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{
			wire.WindowSetContent{WindowID: "w", Content: wire.TextContent{Data: s}},
		}}
	}
	for _, seq := range []uint64{0, 9, 10, 1 << 33} { // positions of several lengths
		at := wire.Position{Epoch: 1_763_186_400_000, Seq: seq}
		d, ok := y.read(encode(at, content(string(newText(64).format(seq%1000, 77)))))
		if !ok || d.at != at || !d.numbered || d.seq != seq%1000 || number(d.stamp) != 77 {
			t.Errorf("event %d: got %+v, want its position, number and stamp 77", seq, d)
		}
	}
	at := wire.Position{Epoch: 3, Seq: 4}
	if d, ok := y.read(encode(at, content("not ours"))); !ok || d.at != at || d.numbered {
		t.Errorf("other ACTIONS: got %+v, want the position without a number", d)
	}
	ping := encode(wire.Position{}, wire.Ping{})
	if _, ok := y.read(ping); ok || typeOf(ping) != "ping" {
		t.Errorf("ping: read as ACTIONS: %v, type %q, want false and ping", ok, typeOf(ping))
	}
}

func TestHubEncoderMessages(t *testing.T) {
	t.Parallel()
	h := newHubEncoder()
	frame := h.events(nil, "", 7, 3, 99, true)
	payload := unmask(t, frame)
	var got []wire.Emit
	for line := range bytes.Lines(payload) {
		m, err := wire.Native{}.DecodeMessage(bytes.TrimSuffix(line, newline))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, m.Data.(wire.Emit))
	}
	if len(got) != 3 || got[0].MessageID != "" || got[2].MessageID != "load-9" {
		t.Fatalf("got %+v, want 3 messages, the last with id load-9", got)
	}
	if m, err := (wire.Native{}).DecodeMessage(unmask(t, h.setup())); err != nil {
		t.Errorf("setup: %v, %v", m, err)
	}
	size := len(h.text.bytes)
	h.setDataSize(bodySize + 10)
	if len(h.text.bytes) != size-10 {
		t.Errorf("text: got %d bytes, want %d", len(h.text.bytes), size-10)
	}
}

func TestAppendEncoderMessages(t *testing.T) {
	t.Parallel()
	m, err := (wire.Native{}).DecodeMessage(unmask(t, newAppendEncoder(appendBytes).events(nil, "ses-1", 7, 1, 99, false)))
	if err != nil {
		t.Fatal(err)
	}
	update, ok := m.Data.(wire.Emit).Actions[0].(wire.WindowUpdateContent)
	more, also := update.Operation.(wire.UpdateAppend)
	if !ok || !also || len(more.Data) != len(`""`)+appendBytes {
		t.Errorf("got %+v, want %d bytes to be appended", m.Data, appendBytes)
	}
}

// unmask returns the payload of a client's frame.
func unmask(t *testing.T, frame []byte) []byte {
	t.Helper()
	if frame[1]&maskBit == 0 {
		t.Fatal("a client's frame is not masked, want it masked")
	}
	head := 6
	switch frame[1] &^ maskBit {
	case len16:
		head = 8
	case len64:
		head = 14
	}
	payload := bytes.Clone(frame[head:])
	for i := range payload {
		payload[i] ^= frame[head-4+i%4]
	}
	return payload
}

func TestFramesOfAllSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 125, 126, 65535, 65536} {
		want := bytes.Repeat([]byte{'x'}, n)
		b := append(appendHead(nil, opText, n, 0), want...)
		for cut := range min(len(b), 12) {
			if _, _, rest, ok, err := nextFrame(b[:cut]); ok || err != nil || len(rest) != cut {
				t.Errorf("%d of %d bytes: ok %v, err %v, %d left, want no frame, no error and all of them", cut, len(b), ok, err, len(rest))
			}
		}
		op, got, rest, ok, err := nextFrame(append(b, "next"...))
		if !ok || err != nil || op != opText || !bytes.Equal(got, want) || string(rest) != "next" {
			t.Errorf(`%d bytes: op %d, %d bytes, rest %q, ok %v, err %v, want a text of %d, rest "next"`, n, op, len(got), rest, ok, err, n)
		}
	}
	for _, b := range []string{"\x01\x01x", "\x81\x81xxxx", "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"} {
		if _, _, _, ok, err := nextFrame([]byte(b)); ok || err == nil {
			t.Errorf("%q: got a frame, want an error", b)
		}
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		seen []uint64
		want faults
	}{
		"all":              {[]uint64{0, 1, 2, 3, 4}, faults{}},
		"lost":             {[]uint64{0, 1, 3, 4}, faults{Lost: 1}},
		"lost at the end":  {[]uint64{0, 1, 2}, faults{Lost: 2}},
		"lost at first":    {[]uint64{2, 3, 4}, faults{Lost: 2}},
		"repeated":         {[]uint64{0, 1, 1, 2, 3, 4}, faults{Repeated: 1}},
		"repeated later":   {[]uint64{0, 1, 2, 3, 4, 1, 2}, faults{Repeated: 2}},
		"reordered":        {[]uint64{0, 2, 1, 3, 4}, faults{Reordered: 1}},
		"late and again":   {[]uint64{0, 2, 1, 1, 3, 4}, faults{Reordered: 1, Repeated: 1}},
		"nothing received": {nil, faults{Lost: 5}},
	} {
		var a tally
		for _, seq := range tt.seen {
			a.event(seq)
		}
		if got := a.finish(5); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	var a tally
	for _, at := range []wire.Position{{Epoch: 1, Seq: 5}, {Epoch: 1, Seq: 5}, {Epoch: 2}, {Epoch: 1, Seq: 6}, {Epoch: 2, Seq: 1}} {
		a.position(at)
	}
	if got := a.finish(0); got != (faults{Backwards: 2}) {
		t.Errorf("positions: got %v, want 2 backwards", got)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.quantile(q); got < want || got > want+want/32 {
			t.Errorf("quantile %v: got %v, want %v or a little more", q, got, want)
		}
	}
	for v := uint64(1); v < 1<<62; v *= 3 {
		if top := uint64(value(bucket(v))); top < v || top > v+v/32 {
			t.Errorf("bucket of %d has the maximum %d, want at most 1/32 more", v, top)
		}
	}
	if got := (&histogram{}).quantile(0.5); got != 0 {
		t.Errorf("empty histogram: got %v, want 0", got)
	}
}

func TestCheckLimits(t *testing.T) {
	t.Parallel()
	var stderr, stdout strings.Builder
	p := &report{stdout: &stdout, stderr: &stderr}
	for i, cpu := range []float64{9, 2, 3} { // medians: 3 and 1
		p.add(result{Scenario: "many", Server: "hub", Store: "file", Protocol: plainProtocol, Round: i, CPU: cpu})
		p.add(result{Scenario: "many", Server: "floor", Round: i, CPU: 1})
	}
	if p.hasFailures() || p.checkLimits() {
		t.Errorf("a ratio of 3: want valid results and a missed limit:\n%s", &stderr)
	}
	if !strings.Contains(stderr.String(), "MISS") || !strings.Contains(stderr.String(), "3.000 ×") {
		t.Errorf("output %s, want MISS and the ratio 3.000", &stderr)
	}
	p.add(result{Scenario: "many", Server: "hub", Store: "file", Protocol: plainProtocol, Faults: faults{Lost: 1}})
	if !p.hasFailures() || !strings.Contains(stderr.String(), "1 lost") {
		t.Errorf("a lost event: want a failure and 1 lost in the output:\n%s", &stderr)
	}
}
