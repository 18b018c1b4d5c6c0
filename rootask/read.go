package rootask

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Task is a task of Roo-Code.
type Task struct {
	// ID is the name of its folder.
	ID       string
	Title    string
	Rows     []wire.UIRow
	Messages []history.Message
	// Left says what was left out, one line each.
	Left []string
}

// Bounds of a task: what the import of session files accepts.
const (
	maxRows         = 10_000
	maxMessages     = 2_500
	maxMessageBytes = 5 << 20
	maxLine         = 3 << 20
	maxTitle        = 80
)

// ErrEmpty means that a task has neither rows nor messages that can be read.
var ErrEmpty = errors.New("it has no rows and no messages")

// Read reads a task folder. Damaged parts are left out; an error means that there is nothing to import.
func Read(folder string) (*Task, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	t := &Task{ID: filepath.Base(folder)}
	rows, err := readFile(root, rowsName)
	if err == nil && rows == nil {
		rows, err = readFile(root, legacyRowsName)
	}
	t.addOmission(err)
	if rows != nil {
		t.readRows(rows)
	}
	messages, err := readFile(root, messagesName)
	t.addOmission(err)
	if messages != nil {
		t.readMessages(messages)
	}
	if len(t.Rows) == 0 && len(t.Messages) == 0 {
		return nil, fmt.Errorf("%w%s", ErrEmpty, strings.Join(append([]string{""}, t.Left...), "; "))
	}
	item, err := readFile(root, itemName)
	t.addOmission(err)
	t.setTitle(item)
	return t, nil
}

// addOmission adds an error to what was left out.
func (t *Task) addOmission(err error) {
	if err != nil {
		t.Left = append(t.Left, err.Error())
	}
}

func (t *Task) setTitle(item []byte) {
	var about struct {
		Task string `json:"task"`
	}
	if item != nil && json.Unmarshal(item, &about) != nil {
		t.Left = append(t.Left, itemName+" is damaged")
	}
	first := ""
	for i := range t.Rows {
		if t.Rows[i].Say == wire.SayUserFeedback {
			first = t.Rows[i].Text
			break
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(strings.TrimSpace(about.Task), first)), "\n")
	t.Title = truncation.Runes(strings.Join(strings.Fields(strings.ToValidUTF8(line, "")), " "), maxTitle)
}

// readMessages reads the messages of the model and links them to rows.
func (t *Task) readMessages(data []byte) {
	all, skipped, err := history.LoadForeign(data)
	if err != nil {
		t.Left = append(t.Left, fmt.Sprintf("%s is damaged: %v", messagesName, err))
		return
	}
	if skipped > 0 {
		t.Left = append(t.Left, fmt.Sprintf("%d parts of messages to and from the model", skipped))
	}
	t.Messages = all[firstThatFits(all):]
	if n := len(all) - len(t.Messages); n > 0 {
		t.Left = append(t.Left, fmt.Sprintf("the %d oldest messages to and from the model", n))
	}
	t.link()
}

// firstThatFits returns the first message from which on a session can hold all.
func firstThatFits(all []history.Message) int {
	bytes := 0
	for i := len(all) - 1; i >= 0; i-- {
		data, err := json.Marshal(&all[i])
		if err != nil {
			return i + 1
		}
		if bytes += len(data); bytes > maxMessageBytes || len(data) > maxLine || len(all)-i > maxMessages {
			return i + 1
		}
	}
	return 0
}

// link sets the rows of the messages: that of the user, or else the first that can show the message. Both
// histories only have times in common. A message without a time belongs to no row.
func (t *Task) link() {
	user := -1 // the last user's row that has its message
	least := wire.RowID(0)
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.TS == 0 {
			continue
		}
		next := 0
		for next < len(t.Rows) && t.Rows[next].TS <= m.TS {
			next++
		}
		row := wire.RowID(next + 1)
		if m.Role == providers.RoleUser && !m.IsSummary && !m.IsTruncationMarker {
			for k := next - 1; k > user; k-- {
				if t.Rows[k].Say == wire.SayUserFeedback {
					row, user = t.Rows[k].ID, k
					break
				}
			}
		}
		least = max(least, row)
		m.Row = least
	}
}

// times returns the times of the first and of the last row; now, if there are none.
func (t *Task) times() (first, last time.Time) {
	if len(t.Rows) == 0 {
		return time.Now(), time.Now()
	}
	return time.UnixMilli(int64(t.Rows[0].TS)), time.UnixMilli(int64(t.Rows[len(t.Rows)-1].TS))
}
