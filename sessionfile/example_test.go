package sessionfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// A session is written to a file and read again.
func Example() {
	source := sessionfile.Source{
		Meta: sessionfile.Metadata{SessionID: "ses-1", Title: "Notes"},
		Desktop: wire.SessionState{
			Mode: wire.StateSnapshot, HeartbeatMS: 1000,
			Monitors: []wire.MonitorStatus{{MonitorID: "monitor-0", State: wire.MonitorIdle}},
		},
		Rows: func(monitor wire.MonitorID) iter.Seq2[wire.UIRow, error] {
			return func(yield func(wire.UIRow, error) bool) {
				yield(wire.UIRow{
					ID: 1, TS: 1000, Type: wire.RowSay, Say: wire.SayUserFeedback, Text: "Hello", MonitorID: monitor,
				}, nil)
			}
		},
	}
	var file bytes.Buffer
	if err := sessionfile.Write(&file, source); err != nil {
		fmt.Println(err)
		return
	}
	log, err := sessionfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), sessionfile.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(log.Meta.SessionID, log.Meta.Title, log.Rows["monitor-0"][0].Text)
	// Output: ses-1 Notes Hello
}

// A file that is not a session file is refused with the reason.
func ExampleRead() {
	data := []byte("not a zip file")
	_, err := sessionfile.Read(bytes.NewReader(data), int64(len(data)), sessionfile.Limits{})
	_, refused := errors.AsType[*sessionfile.RefusedError](err)
	fmt.Println(refused)
	// Output: true
}
