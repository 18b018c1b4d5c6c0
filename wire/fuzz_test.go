package wire_test

import (
	"reflect"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// fuzzDialect checks what must hold for any bytes: nothing panics, refusals have
// a code of the table, and what was accepted is the same after being written and
// read again.
func fuzzDialect(t *testing.T, d wire.Dialect, frame []byte) {
	t.Helper()
	if m, err := d.DecodeMessage(frame); err != nil {
		refused(t, err)
	} else {
		text := d.AppendMessage(nil, m)
		checkLine(t, text)
		again, err := d.DecodeMessage(text)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%s\nbecame %+v (%v)\nwant %+v", text, again, err, m)
		}
	}
	if e, err := d.DecodeEvent(frame); err != nil {
		refused(t, err)
	} else {
		for _, text := range d.AppendFrames(nil, e) {
			checkLine(t, text)
			if _, err := d.DecodeEvent(text); err != nil {
				t.Fatalf("decoding the encoded %s: got error %v, want none", text, err)
			}
		}
	}
}

func seeds(f *testing.F, files ...string) {
	f.Helper()
	for _, name := range files {
		for _, frame := range lines(f, name) {
			f.Add(frame)
		}
	}
	for _, frame := range []string{
		``, `null`, `[]`, `{}`, `{"type":"RESET","type":"RESET"}`, `{"type":"REWIND","data":{"ts":1e999}}`,
		`{"type":"USER_MESSAGE","data":{"content":"\ud800"}}`, `{"type":"pong","timestamp":"2026-02-06T10:00:30.5+09:00"}`,
		`{"type":"EMIT","data":{"actions":[{"type":"desktop.createShortcut","shortcut":{"id":"s","label":"","icon":"","type":"action","target":"","createdAt":1,"osActions":[{"type":"desktop.refreshApps"}]}}]}}`,
		`{"type":"EMIT","actions":[{"type":"window.create","windowId":"w","title":"","bounds":{"x":-0.0,"y":1e-7,"w":1e21,"h":0.1},"content":{"renderer":"component","data":{"components":[],"cols":[1,2]}}}]}`,
		`{"type":"EMIT","actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"iframe","data":{"url":"x"}}},{"type":"window.setContent","windowId":"w","content":{"renderer":"mermaid","data":[ 1 , 2 ]}}]}`,
	} {
		f.Add([]byte(frame))
	}
}

func FuzzDecodeNative(f *testing.F) {
	seeds(f, "native_client.jsonl", "native_server.jsonl")
	f.Fuzz(func(t *testing.T, frame []byte) {
		fuzzDialect(t, wire.Native{}, frame)
		wire.Peek(frame)
		// A stored event must be the same when it is read.
		if e, err := (wire.Native{}).DecodeEvent(frame); err == nil {
			again, err := wire.Native{}.DecodeEvent(wire.AppendEvent(nil, e))
			if err != nil || !reflect.DeepEqual(again, e) {
				t.Fatalf("decoded again: got %+v, error %v, want %+v", again, err, e)
			}
			wire.Desktop{}.AppendFrames(nil, e)
		}
	})
}

func FuzzDecodeDesktop(f *testing.F) {
	seeds(f, "desktop_client.jsonl", "desktop_server.jsonl")
	f.Fuzz(func(t *testing.T, frame []byte) { fuzzDialect(t, wire.Desktop{}, frame) })
}
