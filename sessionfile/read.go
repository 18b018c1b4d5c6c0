package sessionfile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// Limits bounds the input of [Read]. Zero values mean the defaults.
type Limits struct {
	// Parts bounds the number of parts, Bytes their total uncompressed size. Defaults:
	// 10,000 and [MaxBytes].
	Parts int
	Bytes int64
	// Memory bounds the desktop and all conversations, which are held in memory. It defaults to 128 MiB.
	Memory int64
}

// Bounds of what is held in memory.
const (
	lineBytes     = 4 << 20   // a row or a message
	historyBytes  = 128 << 20 // the desktop and all conversations
	rowsRead      = 10_000    // of a monitor
	messagesRead  = 2_500     // of a thread: more than the hub stores of one
	threadBytes   = 6 << 20
	highestID     = 1 << 50 // of rows and messages, leaves room for later ids
	threadsRead   = 500
	metadataBytes = 8 << 20
)

const (
	// MaxFileBytes bounds the files and checkpoints of a session that is exported.
	MaxFileBytes int64 = 256 << 20
	// MaxBytes is the default of [Limits].Bytes: with all that an export may have, it can be imported.
	MaxBytes = MaxFileBytes + historyBytes
)

// reader validates and reads a session file.
type reader struct {
	parts map[string]*zip.File
	meta  Metadata
	left  int64 // bytes that may still be decompressed
	kept  int64 // bytes that may still be held in memory
}

// Read reads and validates a session file. A [*RefusedError] says why it is not accepted;
// other errors are I/O errors of from.
func Read(from io.ReaderAt, size int64, lim Limits) (*Log, error) {
	r := &reader{parts: map[string]*zip.File{}, left: cmp.Or(lim.Bytes, MaxBytes), kept: cmp.Or(lim.Memory, historyBytes)}
	files, err := zip.NewReader(from, size)
	if err != nil {
		return nil, refuse("", "it is no zip file, or not all of one (%v)", err)
	}
	if n := cmp.Or(lim.Parts, 10_000); len(files.File) > n {
		return nil, refuse("", "it has %d parts, and %d are allowed", len(files.File), n)
	}
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") && f.UncompressedSize64 == 0 {
			continue // a folder entry, which other zip tools write
		}
		if r.parts[f.Name] != nil {
			return nil, refuse(f.Name, "it is there twice")
		}
		r.parts[f.Name] = f
	}
	if err := r.metadata(); err != nil {
		return nil, err
	}
	if err := r.verifyParts(); err != nil {
		return nil, err
	}
	return r.log()
}

// metadata reads and validates metadata.json.
func (r *reader) metadata() error {
	f := r.parts[metadataName]
	if f == nil {
		return refuse("", "it has no %s, so it is no session log of a hub", metadataName)
	}
	if f.UncompressedSize64 > metadataBytes {
		return refuse(metadataName, "it is too large")
	}
	data, err := r.read(f, metadataBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &r.meta); err != nil || r.meta.Format != Format {
		return refuse(metadataName, "it does not say that this is an %s", Format)
	}
	if r.meta.Version < 1 || r.meta.Version > Version {
		return refuse(metadataName, "the log has version %d, and this hub reads versions up to %d", r.meta.Version, Version)
	}
	for _, name := range []string{desktopName, messagesName} {
		if _, ok := r.meta.Parts[name]; !ok {
			return refuse(metadataName, "it lists no %s", name)
		}
	}
	if len(r.meta.Threads) > threadsRead {
		return refuse(metadataName, "it has %d conversations, and %d are allowed", len(r.meta.Threads), threadsRead)
	}
	return nil
}

// verifyParts reads every part once and compares its size and checksum.
func (r *reader) verifyParts() error {
	for name := range r.parts {
		if _, ok := r.meta.Parts[name]; !ok && name != metadataName {
			return refuse(name, "%s does not list it", metadataName)
		}
	}
	for name, want := range r.meta.Parts {
		f := r.parts[name]
		if f == nil {
			return refuse(name, "it is missing")
		}
		if want.Bytes > r.left {
			return refuse(name, "the log is too large when it is unpacked")
		}
		in, err := f.Open()
		if err != nil {
			return damaged(name, err)
		}
		sum := sha256.New()
		n, err := io.Copy(sum, io.LimitReader(in, want.Bytes+1))
		if err := errors.Join(err, in.Close()); err != nil {
			return damaged(name, err)
		}
		if r.left -= n; n != want.Bytes || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
			return refuse(name, "it is not what was written")
		}
	}
	return nil
}

func damaged(name string, err error) error { return refuse(name, "it is damaged (%v)", err) }

// read returns a JSON part as a whole.
func (r *reader) read(f *zip.File, most int64) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, damaged(f.Name, err)
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, damaged(f.Name, err)
	}
	if int64(len(data)) > most {
		return nil, refuse(f.Name, "it is too large")
	}
	return withoutZeros(data), nil
}

// withoutZeros replaces U+0000 in JSON strings by U+FFFD, as the hub does with the output
// of agents: clients may not send it, and some readers end a text there.
func withoutZeros(data []byte) []byte {
	const zero, replacement = `\u0000`, `\ufffd`
	if !bytes.Contains(data, []byte(zero)) {
		return data
	}
	data = bytes.Clone(data)
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(data[i:], []byte(zero)) {
			copy(data[i:], replacement)
		}
		i++ // the character after a backslash starts no other escape
	}
	return data
}

// log assembles the session.
func (r *reader) log() (*Log, error) {
	l := &Log{Meta: r.meta, Rows: map[wire.MonitorID][]wire.UIRow{}}
	data, err := r.read(r.parts[desktopName], r.kept)
	if err != nil {
		return nil, err
	}
	r.kept -= int64(len(data))
	if l.Desktop, err = desktopFormat().DecodeOwn(bytes.TrimSpace(data)); err != nil {
		return nil, refuse(desktopName, "%v", err)
	}
	l.Desktop = idleDesktop(l.Desktop)
	seen := places{monitors: map[wire.MonitorID]bool{}, times: map[wire.Millis]bool{}, ids: map[wire.RowID]bool{}, agents: map[agentKey]bool{}}
	for _, m := range l.Desktop.Monitors {
		if l.Rows[m.MonitorID], err = r.rows(m.MonitorID, &seen); err != nil {
			return nil, err
		}
	}
	if len(seen.monitors) == 0 {
		return nil, refuse(desktopName, "it has no monitor")
	}
	for _, info := range r.meta.Threads {
		t, err := r.thread(info, &seen)
		if err != nil {
			return nil, err
		}
		l.Threads = append(l.Threads, t)
	}
	for name, part := range r.meta.Parts {
		if path, is := strings.CutPrefix(name, filesFolder); is {
			l.Files = append(l.Files, File{Name: path, Size: part.Bytes, Open: r.parts[name].Open})
		}
		if path, is := strings.CutPrefix(name, workspacesFolder); is && strings.HasSuffix(path, packEnding) {
			l.Workspaces = append(l.Workspaces, File{Name: strings.TrimSuffix(path, packEnding), Size: part.Bytes, Open: r.parts[name].Open})
		}
		if name == checkpointsName {
			l.Checkpoints = &File{Name: name, Size: part.Bytes, Open: r.parts[name].Open}
		}
	}
	return l, nil
}

// lines calls do with each line of a part.
func (r *reader) lines(name string, most int, do func(line []byte) error) error {
	f := r.parts[name]
	if f == nil {
		return refuse(name, "it is missing")
	}
	in, err := f.Open()
	if err != nil {
		return damaged(name, err)
	}
	defer func() { _ = in.Close() }()
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, lineBytes)
	n := 0
	for scan.Scan() {
		if n++; n > most {
			return refuse(name, "it has more than %d lines", most)
		}
		if r.kept -= int64(len(scan.Bytes())); r.kept < 0 {
			return refuse(name, "the conversations are too large")
		}
		if err := do(withoutZeros(scan.Bytes())); err != nil {
			return refuse(name, "line %d: %v", n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return refuse(name, "line %d: %v", n+1, err)
	}
	return nil
}

// places holds identifiers that must be unique in a session.
type places struct {
	monitors map[wire.MonitorID]bool
	times    map[wire.Millis]bool // TS of rows
	ids      map[wire.RowID]bool
	last     wire.RowID
	agents   map[agentKey]bool
}

// agentKey identifies an agent: by its window, or the main agent of a monitor.
type agentKey struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// rows reads the rows of a monitor. Their ids and TS must increase and be unique.
func (r *reader) rows(monitor wire.MonitorID, seen *places) ([]wire.UIRow, error) {
	if seen.monitors[monitor] {
		return nil, refuse(desktopName, "the monitor %q is there twice", monitor)
	}
	seen.monitors[monitor] = true
	var rows []wire.UIRow
	var id wire.RowID
	var ts wire.Millis
	err := r.lines(rowsFolder+string(monitor)+linesEnding, rowsRead, func(line []byte) error {
		row, err := rowFormat().DecodeOwn(line)
		switch {
		case err != nil:
			return err
		case row.MonitorID != monitor:
			return fmt.Errorf("a row of %q", row.MonitorID)
		case row.TS <= ts || row.ID != 0 && row.ID <= id || row.ID > highestID:
			return fmt.Errorf("row %d does not follow row %d", row.ID, id)
		case seen.times[row.TS] || row.ID != 0 && seen.ids[row.ID]:
			return fmt.Errorf("row %d is there twice", row.ID)
		case int64(row.TS) > time.Now().Add(24*time.Hour).UnixMilli():
			return errors.New("a row of the future") // all later rows would have to be later still
		}
		id, ts = max(id, row.ID), row.TS
		seen.times[ts], seen.ids[row.ID] = true, true
		rows = append(rows, history.FinalVersion(row))
		return nil
	})
	seen.last = max(seen.last, id)
	return rows, err
}

// thread reads a thread. Its message ids must increase, and its agent must be unique.
func (r *reader) thread(info ThreadInfo, seen *places) (history.Thread, error) {
	t := history.Thread{Agent: info.Agent, Provider: info.Provider, Monitor: info.Monitor, Windows: info.Windows}
	if info.Agent == "" || !seen.monitors[info.Monitor] {
		return t, refuse(metadataName, "the conversation of %q is on no monitor", info.Agent)
	}
	windows := info.Windows
	if len(windows) == 0 {
		windows = []wire.WindowID{""}
	}
	for _, w := range windows {
		k := agentKey{info.Monitor, w}
		if seen.agents[k] {
			return t, refuse(metadataName, "%q has a second conversation, that of %q", cmp.Or(string(w), string(info.Monitor)), info.Agent)
		}
		seen.agents[k] = true
	}
	var err error
	if strings.HasSuffix(info.Part, foreignEnding) {
		t.Messages, err = r.foreign(info.Part)
	} else {
		t.Messages, err = r.messages(info.Part, seen)
	}
	return t, err
}

// messages reads the messages of a thread in the hub's format.
func (r *reader) messages(part string, seen *places) (all []history.Message, err error) {
	var last uint64
	bytes := 0
	err = r.lines(part, messagesRead, func(line []byte) error {
		var m history.Message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.ID <= last || m.ID > highestID {
			return fmt.Errorf("message %d does not follow message %d", m.ID, last)
		}
		if m.Row > seen.last+1 {
			return fmt.Errorf("message %d belongs to row %d, and the last one is %d", m.ID, m.Row, seen.last)
		}
		if bytes += len(line); bytes > threadBytes {
			return fmt.Errorf("the conversation has more than %d bytes", threadBytes)
		}
		last = m.ID
		all = append(all, m)
		return nil
	})
	return all, err
}

// foreign reads a thread in the format of another program. Parts of it without a
// counterpart are dropped; see [history.LoadForeign].
func (r *reader) foreign(part string) ([]history.Message, error) {
	f := r.parts[part]
	if f == nil {
		return nil, refuse(part, "it is missing")
	}
	data, err := r.read(f, threadBytes)
	if err != nil {
		return nil, err
	}
	if r.kept -= int64(len(data)); r.kept < 0 {
		return nil, refuse(part, "the conversations are too large")
	}
	all, _, err := history.LoadForeign(data)
	if err != nil {
		return nil, refuse(part, "%v", err)
	}
	if len(all) > messagesRead {
		return nil, refuse(part, "it has more than %d messages", messagesRead)
	}
	return all, nil
}
