package secrets

import "log/slog"

// hidden is what a [Value] prints as.
const hidden = "(secret)"

// Value is a secret in clear text. It prints as "(secret)" however it is printed; only
// [Value.Reveal] returns it.
type Value struct{ text string }

// NewValue returns a secret.
func NewValue(text string) Value { return Value{text} }

// Reveal returns the secret in clear text.
func (v Value) Reveal() string { return v.text }

// String implements [fmt.Stringer].
func (v Value) String() string { return hidden }

// GoString implements [fmt.GoStringer].
func (v Value) GoString() string { return hidden }

// LogValue implements [slog.LogValuer].
func (v Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements [encoding.TextMarshaler].
func (v Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// lastFour returns the end of a secret that is long enough for that to reveal little.
func (v Value) lastFour() string {
	const least = 12
	if r := []rune(v.text); len(r) >= least {
		return string(r[len(r)-4:])
	}
	return ""
}
