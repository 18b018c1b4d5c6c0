package rooipctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/rooipc"
)

// SocketPath returns a path for a socket, in a folder that ends with the test. Paths of sockets must be
// short, so it is not in the folder of the test.
func SocketPath(tb testing.TB) string {
	tb.Helper()
	folder, err := os.MkdirTemp("", "ipc") //nolint:usetesting // paths of sockets must be short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "s")
}

// Conn is a [Client] on a socket. It reads only while a test waits.
type Conn struct {
	Client
	tb   testing.TB
	conn net.Conn
	in   *bufio.Reader
	wait time.Duration
}

// Dial connects to a socket and waits for the Ack. Every wait of the connection ends after wait; 0 means
// the end of the test.
func Dial(tb testing.TB, path string, wait time.Duration) *Conn {
	tb.Helper()
	var d net.Dialer
	conn, err := d.DialContext(tb.Context(), "unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	c := &Conn{tb: tb, conn: conn, in: bufio.NewReader(conn), wait: wait}
	c.Until("the Ack", func() bool { return c.ID != "" })
	return c
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.conn.Close() }

// Continue connects to a socket, perhaps of another process, and resumes the task after the last event
// that this connection has.
func (c *Conn) Continue(path string) *Conn {
	c.tb.Helper()
	next := Dial(c.tb, path, c.wait)
	next.Rows, next.Events, next.Seq = c.Rows, c.Events, c.Seq
	next.Send(fmt.Sprintf(`{"commandName":"ResumeTask","data":%q,"seq":%q}`, c.Task(), c.Seq))
	return next
}

// Write writes bytes, and fails the test if it cannot.
func (c *Conn) Write(data string) {
	c.tb.Helper()
	if _, err := c.TryWrite(data); err != nil {
		c.tb.Fatal(err)
	}
}

// TryWrite writes bytes as far as the server takes them.
func (c *Conn) TryWrite(data string) (int, error) { return c.conn.Write([]byte(data)) }

// Frame returns a command as bytes.
func (c *Conn) Frame(command string) string {
	return `{"type":"message","data":{"type":"TaskCommand","origin":"client","clientId":"` + c.ID + `","data":` + command + `}}` + "\f"
}

// Send sends a command.
func (c *Conn) Send(command string) {
	c.tb.Helper()
	c.Write(c.Frame(command))
}

// SendMessage sends a message to the task.
func (c *Conn) SendMessage(text string) {
	c.tb.Helper()
	c.Send(`{"commandName":"SendMessage","data":{"text":` + c.quote(text) + `}}`)
}

// StartTask starts a task.
func (c *Conn) StartTask(configuration, text string) {
	c.tb.Helper()
	c.Send(`{"commandName":"StartNewTask","data":{"configuration":` + configuration + `,"text":` + c.quote(text) + `}}`)
}

func (c *Conn) quote(text string) string {
	c.tb.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		c.tb.Fatal(err)
	}
	return string(data)
}

// ReadFrame reads the next frame, for at most a while.
func (c *Conn) ReadFrame(most time.Duration) ([]byte, error) {
	if err := c.conn.SetReadDeadline(deadline(most)); err != nil {
		return nil, err
	}
	return rooipc.ReadFrame(c.in)
}

func deadline(wait time.Duration) time.Time {
	if wait == 0 {
		return time.Time{}
	}
	return time.Now().Add(wait)
}

// Until reads frames until a condition holds.
func (c *Conn) Until(what string, holds func() bool) {
	c.tb.Helper()
	for !holds() {
		frame, err := c.ReadFrame(c.wait)
		if err != nil {
			c.tb.Fatalf("before %s: %v; events %v, errors %+v", what, err, c.Names(), c.Errors)
		}
		if err := c.Apply(frame); err != nil {
			c.tb.Fatalf("%s: %v", frame, err)
		}
	}
}

// UntilCompleted reads until the task itself, not a subtask, has completed n times.
func (c *Conn) UntilCompleted(n int) {
	c.tb.Helper()
	c.Until(fmt.Sprintf("end %d of the task", n), func() bool {
		count := 0
		for _, e := range c.Events {
			if e.Name == "taskCompleted" && strings.Contains(string(e.Payload[3]), "false") {
				count++
			}
		}
		return count >= n
	})
}

// UntilAsked reads until there is an open question of a kind.
func (c *Conn) UntilAsked(kind string) {
	c.tb.Helper()
	c.Until("the question "+kind, func() bool {
		return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Ask == kind && !r.IsAnswered })
	})
}

// Task returns the id of the task.
func (c *Conn) Task() string {
	for _, e := range c.Events {
		if e.Name == "taskCreated" {
			return strings.Trim(string(e.Payload[0]), `"`)
		}
	}
	return ""
}

// Answers returns the joined texts of the agents.
func (c *Conn) Answers() string {
	texts, _ := c.Texts("text")
	return strings.Join(texts, "")
}

// WantTexts checks the texts of the agents, none of which may grow any more.
func (c *Conn) WantTexts(want ...string) {
	c.tb.Helper()
	if got, grows := c.Texts("text"); !slices.Equal(got, want) || grows {
		c.tb.Errorf("texts %q, growing %v, want %q", got, grows, want)
	}
}
