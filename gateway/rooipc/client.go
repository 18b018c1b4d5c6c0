package rooipc

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/wire"
)

const (
	// commandTimeout bounds a command.
	commandTimeout = 30 * time.Second
	// writeTimeout bounds a write to a client.
	writeTimeout = 30 * time.Second
	readBuffer   = 16 << 10
)

// client is one connection. Its commands are executed one after the other by the goroutine of serve; a
// second one sends the events of its task.
type client struct {
	server *Server
	conn   *net.UnixConn
	peer   peer
	id     string
	// connection names the client in the log.
	connection wire.ConnectionID
	task       *taskStream // nil if it has none

	writing sync.Mutex
}

func newClient(s *Server, conn *net.UnixConn, p peer) *client {
	var id [6]byte
	_, _ = rand.Read(id[:]) // it never fails
	return &client{
		server: s, conn: conn, peer: p, id: hex.EncodeToString(id[:]), connection: wire.ConnectionID("roo-" + hex.EncodeToString(id[:])),
	}
}

// disconnect makes serve return.
func (c *client) disconnect() { _ = c.conn.Close() }

// serve reads and executes commands until the client disconnects.
func (c *client) serve() {
	defer c.disconnect()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := c.server.Log.With("client", c.id, "pid", c.peer.pid)
	log.Debug("client of the IPC socket connected")
	if !c.write(rooipc.Ack(c.id, os.Getpid(), os.Getppid())) {
		return
	}
	if t, ok := c.server.takeKeptTask(c.peer.pid, time.Now()); ok {
		c.report("", c.resumeKept(ctx, t))
	}
	err := c.readAll(ctx)
	if errors.Is(err, rooipc.ErrFrameTooLarge) {
		c.report("", problem.New(wire.CodeMessageTooLarge, err.Error()))
	}
	log.Debug("client of the IPC socket disconnected", "err", err)
	if c.task != nil {
		c.task.stop()
		c.server.keepTask(c.peer.pid, keptTask{c.task.handle.Session(), c.task.safePosition(time.Now()), time.Now()})
	}
}

func (c *client) readAll(ctx context.Context) error {
	in := bufio.NewReaderSize(c.conn, readBuffer)
	for {
		frame, err := rooipc.ReadFrame(in)
		if err != nil {
			return err
		}
		command, ok, err := rooipc.ParseCommand(frame)
		if err == nil && ok {
			err = c.execute(ctx, command)
		}
		if bad, is := errors.AsType[*rooipc.InputError](err); is {
			command.Name = bad.Command
			err = problem.Query(bad.Field, bad.Error())
		}
		c.report(command.Name, err)
	}
}

// write sends frames. A client that takes none for a while is disconnected.
func (c *client) write(frames ...[]byte) bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, frame := range frames {
		if err := c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return false
		}
		if _, err := c.conn.Write(frame); err != nil {
			c.disconnect()
			return false
		}
	}
	return true
}

// report sends the client the reason why a command failed, unless err is nil.
func (c *client) report(command rooipc.CommandName, err error) {
	if err == nil || errors.Is(err, io.EOF) {
		return
	}
	p := problem.Of(err)
	task := ""
	if c.task != nil {
		task = string(c.task.handle.Session())
	}
	if p.Status == http.StatusInternalServerError {
		c.server.Log.Error("command of the IPC socket failed", "client", c.id, "command", command, "err", err)
	}
	c.write(rooipc.Error(task, time.Now(), p.Code, string(command), p.Detail))
}
