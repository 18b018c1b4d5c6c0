package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// byShape reads a native frame without anything that is quick.
func byShape(frame []byte, from Direction) (p any, err *Error) {
	var env envelope
	if err := env.split(frame, clientText); err != nil {
		return nil, err
	}
	entry, err := lookup(env.members[typeMember], from)
	if err != nil {
		return nil, err
	}
	l := lexer{data: env.members[dataMember], rules: checkedText}
	p, _, err = entry.decodeByShape(&l, 0)
	return p, err
}

var quickFrames = []string{
	`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"text","data":"plain"}}]}}`,
	`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"window-1","content":{"renderer":"markdown","data":"a \"quote\",\na \u0001 line and \ud83d\ude00 ∞"},` +
		`"agentId":"agent-1","requestId":"req-1"},{"type":"window.close","windowId":"w"}],"monitorId":"monitor-0","messageId":"msg-1"}}`,
	`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"html","data":""}}],"monitorId":"monitor-1"}}`,
	`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"iframe","data":"https://example.org/"}},` +
		`{"type":"window.create","windowId":"w","title":"t","bounds":{"x":0,"y":0,"w":1,"h":1},"content":{"renderer":"iframe","data":{"url":"https://example.org/"}}},` +
		`{"type":"window.setContent","windowId":"w","content":{"renderer":"component","data":{"components":[{"type":"image","src":"a","width":"10px"}],"cols":[1,2]}}}]}}`,
	`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"Fenster ü/1","content":{"renderer":"text","data":"x"},` +
		`"agentId":"` + strings.Repeat("a", maxID+1) + `"}],"monitorId":"` + strings.Repeat("m", maxID) + `","messageId":"` + strings.Repeat("i", maxID) + `"}}`,
	`{"type":"ACTIONS","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"text","data":"x"}}],"agentId":"a","monitorId":"monitor-0","messageId":"m","by":"con-1"}}`,
}

func TestQuickReadingIsThatOfTheShape(t *testing.T) {
	t.Parallel()
	for _, frame := range quickFrames {
		from := FromClient
		if strings.Contains(frame, "ACTIONS") {
			from = FromServer
		}
		want, fault := byShape([]byte(frame), from)
		if fault != nil {
			t.Fatalf("%s: %v", frame, fault)
		}
		entry := entryOf(want)
		l := lexer{data: []byte(frame), rules: clientText, depth: 1}
		got, end, ok := entry.quickly(&l, strings.Index(frame, `{"actions"`))
		if !ok || end != len(frame)-1 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis %+v, %v, want %+v", frame, got, ok, want)
		}
		var m Message
		if ok := readBare([]byte(frame), &m); ok != (from == FromClient) || ok && !reflect.DeepEqual(m.Data, want) {
			t.Errorf("%s\nis %+v, %v by itself, want %+v", frame, m, ok, want)
		}
	}
}

// Frames of nearly that form are read, or refused, as their shapes have it.
func TestQuickReadingTakesNothingElse(t *testing.T) {
	t.Parallel()
	check := func(frame []byte) {
		for _, from := range []Direction{FromClient, FromServer} {
			env := envelope{from: from}
			if !env.read(frame) || env.payload == nil {
				continue
			}
			if want, err := byShape(frame, from); err != nil || !reflect.DeepEqual(env.payload, want) {
				t.Fatalf("%s\nis %+v, want %+v (%v)", frame, env.payload, want, err)
			}
		}
		var m Message
		if !readBare(frame, &m) {
			if !reflect.DeepEqual(m, Message{}) {
				t.Fatalf("%s\nis %+v, but was not read", frame, m)
			}
			return
		}
		want, err := decodeAny(frame)
		if err != nil || !reflect.DeepEqual(m, want) {
			t.Fatalf("%s\nis %+v by itself, want %+v (%v)", frame, m, want, err)
		}
	}
	for _, frame := range quickFrames {
		for i := range len(frame) {
			check([]byte(frame[:i]))
			check([]byte(frame[:i] + frame[i+1:]))
			check([]byte(frame[:i] + frame[i:i+1] + frame[i:]))
			for _, c := range []byte("\x00\n \"\\,:{}[]nu09aZ-\x7f\x80\xc3\xff") {
				changed := []byte(frame)
				changed[i] = c
				check(changed)
				check(bytes.Join([][]byte{changed[:i], {c}, []byte(frame[i:])}, nil))
			}
		}
	}
}
