package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrPosition is wrapped by every error about an invalid position.
var ErrPosition = errors.New("not a position")

// positionPattern is the pattern of a position for the schema, which cannot express that
// both numbers fit into 64 bits.
const positionPattern = `^(0|[1-9][0-9]{0,19})-(0|[1-9][0-9]{0,19})$`

// maxPosition is the length of the longest position.
const maxPosition = len("18446744073709551615-18446744073709551615")

// Position is the place of an event in its session's log. Epoch increases with every new
// owner and Seq counts from 0 within an epoch, so positions are totally ordered and never
// reused. The zero Position is before every event.
//
// For clients a position is an opaque string, `<epoch>-<seq>`, that they send back as
// resume_from.
type Position struct {
	Epoch uint64
	Seq   uint64
}

// ParsePosition parses the output of [Position.String] and nothing else: no signs, spaces
// or leading zeros, so that equal positions have equal strings.
func ParsePosition(s string) (Position, error) {
	epoch, seq, ok := strings.Cut(s, "-")
	if !ok {
		return Position{}, fmt.Errorf("%w: %.64q has no dash", ErrPosition, s)
	}
	var p Position
	var err error
	if p.Epoch, err = parseCount(epoch); err != nil {
		return Position{}, fmt.Errorf("%w: epoch of %.64q", ErrPosition, s)
	}
	if p.Seq, err = parseCount(seq); err != nil {
		return Position{}, fmt.Errorf("%w: seq of %.64q", ErrPosition, s)
	}
	return p, nil
}

// parseCount parses a decimal number without a sign or leading zeros.
func parseCount(s string) (uint64, error) {
	if s == "" || s[0] == '+' || (s[0] == '0' && len(s) > 1) {
		return 0, ErrPosition
	}
	return strconv.ParseUint(s, 10, 64)
}

// String returns the form used on the wire, `<epoch>-<seq>`.
func (p Position) String() string {
	return string(p.Append(make([]byte, 0, maxPosition)))
}

// Append appends the form of [Position.String] to dst.
func (p Position) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, p.Epoch, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, p.Seq, 10)
}

// Compare orders positions: -1 when p is before q, 0 when equal, +1 after.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Epoch, q.Epoch), cmp.Compare(p.Seq, q.Seq))
}

// IsZero reports whether p lies before every event.
func (p Position) IsZero() bool { return p == Position{} }

// MarshalText implements [encoding.TextMarshaler].
func (p Position) MarshalText() ([]byte, error) { return p.Append(nil), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Position) UnmarshalText(text []byte) error {
	q, err := ParsePosition(string(text))
	if err != nil {
		return err
	}
	*p = q
	return nil
}
