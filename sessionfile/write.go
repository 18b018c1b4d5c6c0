package sessionfile

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// Source is a session to export. Sequences end with the first error.
type Source struct {
	Meta    Metadata
	Desktop wire.SessionState
	// Rows yields the rows of a monitor, oldest first. It is called twice.
	Rows    func(wire.MonitorID) iter.Seq2[wire.UIRow, error]
	Threads []history.Thread
	Files   []File
	// Checkpoints are those of the files; nil means none.
	Checkpoints *File
	// Workspaces are those of workspaces, with the names of the workspaces.
	Workspaces []File
}

// FileBytes returns the size of all files and checkpoints.
func (s *Source) FileBytes() (n int64) {
	all := slices.Concat(s.Files, s.Workspaces)
	if s.Checkpoints != nil {
		all = append(all, *s.Checkpoints)
	}
	for _, f := range all {
		if n += f.Size; n < 0 { // files of programs may be sparse
			return math.MaxInt64
		}
	}
	return n
}

// File is a file in the storage of a session.
type File struct {
	Name string
	Size int64
	// Open returns the content. An error that is [fs.ErrNotExist] leaves the file out.
	Open func() (io.ReadCloser, error)
}

var (
	rowFormat     = sync.OnceValue(wire.FormatOf[wire.UIRow])
	desktopFormat = sync.OnceValue(wire.FormatOf[wire.SessionState])
)

// packer writes the parts and records their sizes and checksums.
type packer struct {
	zip   *zip.Writer
	when  time.Time
	parts map[string]Part
	name  string
	out   io.Writer
	sum   hash.Hash
	bytes int64
}

// Write exports a session. After an error the output is not a valid file.
func Write(w io.Writer, s Source) error {
	p := &packer{zip: zip.NewWriter(w), when: s.Meta.ExportedAt, parts: map[string]Part{}}
	if err := p.pack(s); err != nil {
		return err
	}
	if err := p.zip.Close(); err != nil {
		return fmt.Errorf("end the session log: %w", err)
	}
	return nil
}

func (p *packer) pack(s Source) error {
	state := idleDesktop(s.Desktop)
	if err := p.part(desktopName, func() error { return p.raw(desktopFormat().Append(nil, &state)) }); err != nil {
		return err
	}
	if err := p.part(messagesName, func() error { return p.messages(s, state.Monitors) }); err != nil {
		return err
	}
	for _, m := range state.Monitors {
		err := p.part(rowsFolder+string(m.MonitorID)+linesEnding, func() error {
			return each(s.Rows(m.MonitorID), func(r *wire.UIRow) error {
				row := history.FinalVersion(*r) // the import cannot continue a partial row
				return p.raw(rowFormat().Append(nil, &row))
			})
		})
		if err != nil {
			return err
		}
	}
	meta := s.Meta
	meta.Format, meta.Version, meta.ThreadIDs, meta.Threads = Format, Version, map[string]string{}, []ThreadInfo{}
	for i, t := range s.Threads {
		info := ThreadInfo{Agent: t.Agent, Provider: t.Provider, Monitor: t.Monitor, Windows: t.Windows, Part: apiFolder + strconv.Itoa(i) + linesEnding}
		meta.Threads = append(meta.Threads, info)
		if t.ID != "" {
			meta.ThreadIDs[t.Agent] = t.ID
		}
		err := p.part(info.Part, func() error {
			for j := range t.Messages {
				if err := p.line(&t.Messages[j]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, f := range s.Files {
		if err := p.file(filesFolder+f.Name, f); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
			return err
		}
	}
	if s.Checkpoints != nil {
		if err := p.file(checkpointsName, *s.Checkpoints); err != nil {
			return err
		}
	}
	for _, f := range s.Workspaces {
		if err := p.file(workspacesFolder+f.Name+packEnding, f); err != nil {
			return err
		}
	}
	meta.Parts = p.parts
	return p.part(metadataName, func() error { return p.line(meta) })
}

// idleDesktop returns the desktop without work in progress. A plan that has ended stays.
func idleDesktop(s wire.SessionState) wire.SessionState {
	out := wire.SessionState{
		Mode: wire.StateSnapshot, HeartbeatMS: 1, Status: wire.SessionIdle, Title: s.Title, Provider: s.Provider, Monitors: quiet(s.Monitors),
		Windows: unlocked(s.Windows), Notifications: s.Notifications, Shortcuts: s.Shortcuts, Badges: s.Badges,
		Todos: []wire.Todo{}, RecentMessages: []wire.UIRow{}, LastMessageID: s.LastMessageID,
	}
	if s.Plan.Ended() {
		out.Plan, out.Todos = s.Plan, s.Todos
	}
	return out
}

func quiet(monitors []wire.MonitorStatus) []wire.MonitorStatus {
	out := make([]wire.MonitorStatus, len(monitors))
	for i, m := range monitors {
		out[i] = wire.MonitorStatus{MonitorID: m.MonitorID, State: wire.MonitorIdle, Revision: m.Revision}
	}
	return out
}

func unlocked(windows []wire.WindowState) []wire.WindowState {
	out := make([]wire.WindowState, len(windows))
	for i, w := range windows {
		w.Lock = ""
		out[i] = w
	}
	return out
}

// messages writes messages.jsonl, monitor by monitor.
func (p *packer) messages(s Source, monitors []wire.MonitorStatus) error {
	for _, m := range monitors {
		err := each(s.Rows(m.MonitorID), func(r *wire.UIRow) error {
			for _, l := range linesOf(r) {
				if err := p.line(l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls do with each row until an error.
func each(rows iter.Seq2[wire.UIRow, error], do func(*wire.UIRow) error) error {
	for row, err := range rows {
		if err != nil {
			return fmt.Errorf("read the rows: %w", err)
		}
		if err := do(&row); err != nil {
			return err
		}
	}
	return nil
}

// part writes one part.
func (p *packer) part(name string, fill func() error) error {
	out, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: p.when})
	if err != nil {
		return fmt.Errorf("begin %s: %w", name, err)
	}
	p.name, p.sum, p.bytes = name, sha256.New(), 0
	p.out = io.MultiWriter(out, p.sum)
	if err := fill(); err != nil {
		return err
	}
	p.parts[name] = Part{Bytes: p.bytes, SHA256: hex.EncodeToString(p.sum.Sum(nil))}
	return nil
}

// raw writes an encoded line.
func (p *packer) raw(data []byte) error {
	n, err := p.out.Write(append(data, '\n'))
	p.bytes += int64(n)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.name, err)
	}
	return nil
}

func (p *packer) line(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.name, err)
	}
	return p.raw(data)
}

// file writes a part with the content of a file. If the file cannot be opened there is no part.
func (p *packer) file(name string, f File) error {
	from, err := f.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer func() { _ = from.Close() }() // only read
	return p.part(name, func() error {
		n, err := io.Copy(p.out, io.LimitReader(from, f.Size)) // it may have grown
		p.bytes += n
		if err != nil {
			return fmt.Errorf("write %s: %w", p.name, err)
		}
		return nil
	})
}
