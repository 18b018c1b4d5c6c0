package wire

import (
	"bytes"
	"iter"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A simple decoder to compare the real one with: at each level it first skips a value to
// find its end and then decodes it.

func slowDecode(s *Shape, raw []byte, v reflect.Value) *Error {
	if want, got := s.want(), jsonKind(raw[0]); s.Kind != KindAny && s.Kind != KindChoice && want != got {
		return invalid("want " + want + ", got " + got)
	}
	switch s.Kind {
	case KindString:
		return slowDecodeString(s, raw, v)
	case KindArray:
		return slowDecodeArray(s, raw, v)
	case KindMap:
		return slowDecodeMap(s, raw, v)
	case KindObject:
		return slowDecodeObject(s, raw, v)
	case KindUnion:
		return slowDecodeUnion(s, raw, v)
	case KindChoice:
		return slowDecodeChoice(s, raw, v)
	}
	return s.decodeLeaf(raw, v)
}

func slowDecodeString(s *Shape, raw []byte, v reflect.Value) *Error {
	text := unquote(raw)
	if s.rule != nil {
		if err := s.rule.check(text); err != nil {
			return invalid(err.Error())
		}
	}
	if len(s.Values) > 0 && !slices.Contains(s.Values, text) {
		return invalid("want one of " + strings.Join(s.Values, ", ") + ", got " + strconv.Quote(shorten(text)))
	}
	if s.MinLen > 0 || s.MaxLen > 0 {
		if err := s.checkLen(utf8.RuneCountInString(text), "characters"); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

func slowDecodeArray(s *Shape, raw []byte, v reflect.Value) *Error {
	n := 0
	for item := range items(raw) {
		v.Grow(1)
		v.SetLen(n + 1)
		if err := slowDecode(s.Elem, item, v.Index(n)); err != nil {
			return err.at(n)
		}
		n++
	}
	return s.checkLen(n, "items")
}

func slowDecodeMap(s *Shape, raw []byte, v reflect.Value) *Error {
	n := 0
	for key, value := range members(raw) {
		v.Grow(1)
		v.SetLen(n + 1)
		m := v.Index(n)
		if err := slowDecode(s.Key, key, m.Field(0)); err != nil {
			return err.in(unquote(key))
		}
		if value[0] == 'n' && s.Elem.Kind != KindAny {
			v.SetLen(n) // null counts as absent
			continue
		}
		if err := slowDecode(s.Elem, value, m.Field(1)); err != nil {
			return err.in(unquote(key))
		}
		n++
	}
	return nil
}

func slowDecodeObject(s *Shape, raw []byte, v reflect.Value) *Error {
	var seen uint64 // there is no object with more than 64 fields
	for key, value := range members(raw) {
		i, ok := s.byName.find(keyText(key))
		if !ok || seen&(1<<i) != 0 {
			continue // unknown, or a duplicate, which only the hub may write
		}
		f := &s.Fields[i]
		seen |= 1 << i
		if f.Optional && value[0] == 'n' {
			continue
		}
		if err := slowDecodeField(f, value, f.get(v)); err != nil {
			return err.in(f.Name)
		}
	}
	for i := range s.Fields {
		if f := &s.Fields[i]; !f.Optional && seen&(1<<i) == 0 {
			return invalid("is required").in(f.Name)
		}
	}
	return nil
}

func slowDecodeField(f *Field, raw []byte, v reflect.Value) *Error {
	if !f.ptr {
		err := slowDecode(f.Shape, raw, v)
		if f.keepEmpty && err == nil && v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		return err
	}
	target := reflect.New(f.Shape.typ)
	if err := slowDecode(f.Shape, raw, target.Elem()); err != nil {
		return err
	}
	v.Set(target)
	return nil
}

func slowDecodeUnion(s *Shape, raw []byte, v reflect.Value) *Error {
	tag := slowMember(raw, s.Tag)
	switch {
	case tag == nil:
		return invalid("is required").in(s.Tag)
	case tag[0] != '"':
		return invalid("want a string, got " + jsonKind(tag[0])).in(s.Tag)
	}
	name := unquote(tag)
	for _, w := range s.Variants {
		if w.Name != "" && w.Name != name {
			continue
		}
		target := reflect.New(w.Shape.typ).Elem()
		if err := slowDecode(w.Shape, raw, target); err != nil {
			return err
		}
		v.Set(target)
		return nil
	}
	return invalid("unknown value " + strconv.Quote(shorten(name))).in(s.Tag)
}

func slowDecodeChoice(s *Shape, raw []byte, v reflect.Value) *Error {
	kinds := make([]string, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		if kinds[i] = f.Shape.want(); kinds[i] == jsonKind(raw[0]) {
			return slowDecodeField(f, raw, f.get(v))
		}
	}
	return invalid("want " + strings.Join(kinds, " or ") + ", got " + jsonKind(raw[0]))
}

func slowMember(object []byte, name string) []byte {
	for key, value := range members(object) {
		if string(keyText(key)) == name {
			return value
		}
	}
	return nil
}

func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for at := skipSpace(object, 1); object[at] != '}'; {
			end := skipValue(object, at)
			key := object[at:end]
			at = skipSpace(object, skipSpace(object, end)+1) // past the colon
			end = skipValue(object, at)
			if !yield(key, object[at:end]) {
				return
			}
			at = skipComma(object, end)
		}
	}
}

func items(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		for at := skipSpace(array, 1); array[at] != ']'; {
			end := skipValue(array, at)
			if !yield(array[at:end]) {
				return
			}
			at = skipComma(array, end)
		}
	}
}

// slowOpen is envelope.open, in two passes and without the payload.
func slowOpen(frame []byte, rules textRules) (envelope, *Error) {
	var env envelope
	if err := checkText(frame, rules); err != nil {
		return env, err
	}
	frame = frame[skipSpace(frame, 0):]
	if frame[0] != '{' {
		return env, invalid("want an object, got " + jsonKind(frame[0]))
	}
	for key, value := range members(frame) {
		switch string(keyText(key)) {
		case "type":
			env.members[typeMember] = value
		case "session_id":
			env.members[sessionMember] = value
		case "message_id":
			env.members[idMember] = value
		case "timestamp":
			env.members[timeMember] = value
		case "data":
			env.members[dataMember] = value
		}
	}
	return env, nil
}

// goldenFrames returns all frames of the golden files; flat ones get an envelope.
func goldenFrames(t *testing.T) [][]byte {
	t.Helper()
	frames := [][]byte{ // tags in odd places, keys twice
		[]byte(`{"type":"EMIT","data":{"actions":[{"windowId":"w","content":{"data":"x","renderer":"text"},"type":"window.setContent"}]}}`),
		[]byte(`{"data":{"actions":[ { "type" : "window.setContent" , "windowId":"w","content":{"data":1,"renderer":"x"}}]},"type":"EMIT"}`),
		[]byte(`{"type":"EMIT","data":{"actions":[{"ty\u0070e":"window.focus","windowId":"w"},{"type":"window.close","windowId":"a\"b"}]}}`),
		[]byte(`{"type":"ACTIONS","data":{"actions":[],"monitorId":"a","monitorId":"b"},"type":"ACTIONS"}`),
	}
	for _, name := range []string{"native_client.jsonl", "native_server.jsonl", "desktop_client.jsonl", "desktop_server.jsonl"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if strings.HasPrefix(name, "desktop") {
				kind := slowMember(line, "type")
				line = slices.Concat([]byte(`{"type":`), kind, []byte(`,"data":`), line, []byte(`}`))
			}
			frames = append(frames, line)
		}
	}
	return frames
}

// drawMutant draws a frame and inserts or replaces some of its tokens.
func drawMutant(t *rapid.T, frames [][]byte) []byte {
	frame := rapid.SampledFrom(frames).Draw(t, "frame")
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "changes") {
		var starts []int
		for i, c := range frame {
			if c == ',' || c == ':' || c == '[' || c == '{' {
				starts = append(starts, i+1)
			}
		}
		start := rapid.SampledFrom(starts).Draw(t, "start")
		end := start + max(bytes.IndexAny(frame[start:], `,:}]`), 0)
		piece := rapid.SampledFrom([]string{
			`null`, `null`, `""`, `{}`, `[]`, `1`, `-1.5`, `1e3`, `1e400`, `true`, `"\u0074ype"`, `"type"`, `"\ud800"`, `"\u0000"`, `"monitor-0"`, `,`, `{`, `}`, ` `,
			`"x":{"y":[1,"\"}"]},`, `"type":1,`, `"data":null,`, `"x":1,"x":2,`, `"type":"text",`, `"renderer":"other",`,
			"\x01", "\xff", strings.Repeat("[", 40) + strings.Repeat("]", 40),
		}).Draw(t, "piece")
		if strings.HasSuffix(piece, ",") || piece == " " {
			end = start
		}
		frame = slices.Concat(frame[:start], []byte(piece), frame[end:])
	}
	return frame
}

func TestDecodingMatchesReference(t *testing.T) {
	t.Parallel()
	frames := goldenFrames(t)
	rapid.Check(t, func(t *rapid.T) {
		frame := drawMutant(t, frames)
		rules := rapid.SampledFrom([]textRules{clientText, hubText}).Draw(t, "rules")
		env, err := slowOpen(frame, rules)
		for _, from := range []Direction{"", FromClient, FromServer} {
			got := envelope{from: from}
			if fault := got.open(frame, rules); !reflect.DeepEqual(fault, err) || err == nil && !reflect.DeepEqual(got.raw(), env) {
				t.Fatalf("%s was opened as %+v (%v), want %+v (%v)", frame, got, fault, env, err)
			}
			if entry, fault := lookup(env.members[typeMember], from); err == nil && fault == nil {
				compareDecoding(t, entry, got, frame)
			}
		}
	})
}

// raw returns the envelope without the results of decoding.
func (env envelope) raw() envelope {
	env.from, env.entry, env.payload = "", nil, nil
	return env
}

// compareDecoding fails unless slowDecode decodes the same payload as decodeChecked and, if
// it decoded one, as env.open.
func compareDecoding(t *rapid.T, entry *Entry, env envelope, frame []byte) {
	data := env.members[dataMember]
	if data == nil || data[0] == 'n' {
		data = []byte("{}")
	}
	want := reflect.New(entry.typ).Elem()
	wrong := slowDecode(entry.Shape, data, want)
	got, err := entry.decodeChecked(data)
	if !reflect.DeepEqual(err, wrong) || err == nil && !reflect.DeepEqual(got, want.Interface()) {
		t.Fatalf("%s became %+v (%v), want %+v (%v)", frame, got, err, want, wrong)
	}
	if env.payload != nil && (wrong != nil || !reflect.DeepEqual(env.payload, want.Interface())) {
		t.Fatalf("%s became %+v on the way, want %+v (%v)", frame, env.payload, want, wrong)
	}
}

// The decoder relies on these properties of shapes without checking them.
func TestShapesKeepToTheRulesOfTheDecoder(t *testing.T) {
	t.Parallel()
	shapes := maps.Clone(theCatalog().compiler.shapes)
	shapes[reflect.TypeFor[ClientPayload]()] = theCatalog().flat[FromClient]
	shapes[reflect.TypeFor[ServerPayload]()] = theCatalog().flat[FromServer]
	for typ, s := range shapes {
		if len(s.Fields) > 64 {
			t.Errorf("fields of %v: got %d, want at most 64", typ, len(s.Fields))
		}
		if len(s.Variants) >= math.MaxUint8 {
			t.Errorf("variants of %v: got %d, want fewer than %d", typ, len(s.Variants), math.MaxUint8)
		}
		if len(s.Values) > 0 && s.rule != nil {
			t.Errorf("%v: got values and a rule, want only one of them", typ)
		}
		for _, w := range s.Variants {
			if _, ok := w.Shape.byName.find([]byte(s.Tag)); ok == (w.Name != "") || w.Shape.Kind != KindObject {
				t.Errorf("%v: got a variant %s of kind %v, want an object with one place for the tag", typ, w.Shape.Name, w.Shape.Kind)
			}
		}
	}
}
