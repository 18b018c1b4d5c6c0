package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

func TestStringsAreWrittenAsJSONWantsThem(t *testing.T) {
	t.Parallel()
	format := wire.FormatOf[string]()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[\x00-\x{a0}"\\]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text")
		text := format.Append(nil, &s)
		checkLine(t, text)
		var theirs string
		if err := json.Unmarshal(text, &theirs); err != nil {
			t.Fatalf("string written as %q: got error %v from encoding/json, want none", text, err)
		}
		ours, err := format.DecodeOwn(text)
		if want := strings.ToValidUTF8(s, "\ufffd"); err != nil || ours != theirs || utf8.ValidString(s) && ours != want {
			t.Fatalf("%q written as %q: got %q, error %v, want %q as encoding/json reads it", s, text, ours, err, theirs)
		}
		reference, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		if got, err := format.DecodeOwn(reference); err != nil || got != theirs {
			t.Fatalf("%q was read as %q (%v), want %q", reference, got, err, theirs)
		}
	})
}

func TestNumbersAreWrittenAsJSONWantsThem(t *testing.T) {
	t.Parallel()
	format := wire.FormatOf[float64]()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int64(), func(n int64) float64 { return float64(n) })).Draw(t, "number")
		text := format.Append(nil, &f)
		reference, err := json.Marshal(f)
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		got, err := format.Decode(text)
		if err != nil || got != f {
			t.Fatalf("%v written as %s: got %v, error %v, want the same number", f, text, got, err)
		}
		if math.Abs(f) < 1e21 && math.Abs(f) >= 1e-6 && !bytes.Equal(text, reference) {
			t.Fatalf("%v was written as %s, want %s", f, text, reference)
		}
	})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := format.Append(nil, &f); string(got) != "0" {
			t.Errorf("%v: got %s, want 0", f, got)
		}
	}
}

func TestIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	signed, unsigned := wire.FormatOf[int64](), wire.FormatOf[uint64]()
	rapid.Check(t, func(t *rapid.T) {
		n, u := rapid.Int64().Draw(t, "signed"), rapid.Uint64().Draw(t, "unsigned")
		for text, want := range map[string]any{string(signed.Append(nil, &n)): n, string(unsigned.Append(nil, &u)): u} {
			if reference, err := json.Marshal(want); err != nil || text != string(reference) {
				t.Fatalf("integer %v: got %s, want %s", want, text, reference)
			}
		}
	})
}

// hasDuplicate looks for duplicate keys in valid JSON with the tokens of the
// standard library.
func hasDuplicate(in *json.Decoder) bool {
	token, _ := in.Token()
	if token != json.Delim('{') && token != json.Delim('[') {
		return false
	}
	seen := map[string]bool{}
	for in.More() {
		if token == json.Delim('{') {
			key, _ := in.Token()
			name, _ := key.(string)
			if seen[name] {
				return true
			}
			seen[name] = true
		}
		if hasDuplicate(in) {
			return true
		}
	}
	_, err := in.Token() // the closing bracket
	return err != nil
}

// The lexer accepts the same texts as the standard library, except those that break the
// additional rules.
func TestTextRulesAgreeWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	format := wire.FormatOf[json.RawMessage]()
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", `"a"`, `"b"`, `"\u0061"`, `"`, `\`, `\n`, `\u12`, `1`, `-`, `0`, `.5`, `e9`, `E+1`,
		`true`, `false`, `null`, `nul`, `{"a":1}`, `[1,2]`, "\x01", "é", "\xff", `"\u0000"`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), ""))
		raw, err := format.Decode(text)
		valid := json.Valid(text) && utf8.Valid(text)
		if valid && hasDuplicate(json.NewDecoder(bytes.NewReader(text))) {
			valid = false
		}
		if bytes.Contains(text, []byte(`\u0000`)) && !bytes.Contains(text, []byte(`\\`)) {
			valid = false
		}
		if (err == nil) != valid {
			t.Fatalf("%q: %v, want valid %v", text, err, valid)
		}
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			t.Fatalf("compact: %v", err)
		}
		if !bytes.Equal(raw, compact.Bytes()) {
			t.Fatalf("%q was decoded as %q, want %q", text, raw, compact.Bytes())
		}
	})
}

// Free-form data comes from providers and tools. No data may make the frame around it
// invalid.
func TestFreeFormDataCannotBreakAFrame(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"": "null", "{": "null", "1 2": "null", `"a` + "\n" + `b"`: "null", "\xff": "null", "NaN": "null",
		strings.Repeat("[", 40) + strings.Repeat("]", 40): "null",
		"{ \"a\" :\n[ 1 ,\t2 ] }":                         `{"a":[1,2]}`,
		`"a b\" c"`:                                       `"a b\" c"`,
		`{"a":1,"a":2}`:                                   `{"a":1,"a":2}`,
		`1e999`:                                           `1e999`,
	}
	for raw, want := range tests {
		e := wire.Event{Session: "ses-1", Data: wire.HITLInputRequest{
			RequestID: "r", InputType: wire.AnswerText, DefaultValue: json.RawMessage(raw + " "),
		}}
		frame := wire.AppendEvent(nil, e)
		checkLine(t, frame)
		if got, err := (wire.Native{}).DecodeEvent(frame); err != nil {
			t.Errorf("frame with %q: got error %v, want it decoded", raw, err)
		} else if p, ok := got.Data.(wire.HITLInputRequest); !ok || want != "null" && string(p.DefaultValue) != want {
			t.Errorf("%q became %s, want %s", raw, p.DefaultValue, want)
		}
		if !bytes.Contains(frame, []byte(`"default_value":`+want)) {
			t.Errorf("%q was written in %s, want %s", raw, frame, want)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	type record struct {
		Window wire.WindowState `json:"window"`
		Open   []wire.Action    `json:"open,omitempty"`
	}
	format := wire.FormatOf[record]()
	want := record{
		Window: wire.WindowState{WindowID: "w", MonitorID: "monitor-0", Title: "T", Content: wire.IframeContent{Data: wire.IframeSource{URL: "/app"}}},
		Open:   []wire.Action{wire.WindowFocus{WindowID: "w"}},
	}
	text := format.Append([]byte("x"), &want)
	if string(text) != `x{"window":{"windowId":"w","monitorId":"monitor-0","title":"T","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"iframe","data":"/app"}},"open":[{"type":"window.focus","windowId":"w"}]}` {
		t.Errorf("encoded with a prefix: got %s, want x, the window and one action", text)
	}
	got, err := format.Decode(append([]byte("\n"), append(text[1:], ' ')...))
	if err != nil || got.Window.Content != want.Window.Content || len(got.Open) != 1 || got.Open[0] != want.Open[0] {
		t.Errorf("decoded: got %+v, error %v, want %+v", got, err, want)
	}
	_, err = format.Decode([]byte(`{"window":{}}`))
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Path != "window.windowId" {
		t.Errorf("window without an id: got error %v, want one for window.windowId", err)
	}
	if _, err := format.Decode([]byte(`{`)); err == nil {
		t.Error("half an object: got no error, want one")
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	o := wire.Object[string, int]{}.Set("a", 1).Set("b", 2).Set("a", 3)
	if v, ok := o.Get("a"); !ok || v != 3 || len(o) != 2 {
		t.Errorf("a: got %d (%v) in %v, want 3 of two keys", v, ok, o)
	}
	if v, ok := o.Get("c"); ok || v != 0 {
		t.Errorf("c: got %d (%v), want none", v, ok)
	}
}
