package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// newTable returns a writer for an aligned table.
func newTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// cell returns untrusted text for a table: on one line, truncated to n characters, "-" if empty.
func cell(s string, n int) string { return cmp.Or(terminal.Shorten(terminal.OneLine(s), n), "-") }

// ago formats the time from at to now, "-" if at is 0.
func ago(at wire.Millis, now time.Time) string {
	if at == 0 {
		return "-"
	}
	return span(now.Sub(time.UnixMilli(int64(at))))
}

// span formats a duration in its one or two largest units, below a second as "now".
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}

// millis formats a number of seconds in milliseconds, 0 as "-".
func millis(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return strconv.FormatFloat(seconds*1000, 'f', 1, 64) + "ms"
}

// size formats a number of bytes in MiB, 0 as "-".
func size(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n>>20, 10) + " MiB"
}

// moment is a time encoded as RFC 3339 or as milliseconds since 1970.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(b []byte) error {
	var ms int64
	if json.Unmarshal(b, &ms) == nil {
		m.Time = time.UnixMilli(ms)
		return nil
	}
	return json.Unmarshal(b, &m.Time)
}
