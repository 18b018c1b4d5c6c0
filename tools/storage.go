package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
)

func storageTools() []tool {
	return []tool{
		{
			name: "storage:read", in: everyone, parallel: true, repeatable: true, use: with(readFile),
			about: "Read a file of this desktop's storage: text, a picture to look at, or pages of a PDF file as text or as pictures.",
		},
		{
			name: "storage:list", in: everyone, parallel: true, repeatable: true, use: with(listFiles),
			about: "List a folder of this desktop's storage.",
		},
		{
			name: "storage:write", in: workers, writes: true, covers: covering(overwrites), use: with(writeFile),
			about: "Write a text file into this desktop's storage. Folders are made as needed; a file of that name is replaced, unless it changed since you read it.",
		},
		{name: "storage:delete", in: workers, writes: true, use: with(deleteFile), about: "Delete a file or folder of this desktop's storage."},
	}
}

// maxText bounds a text file that is read, in bytes.
const maxText = 4 << 20

type readInput struct {
	Path   string `json:"path" jsonschema:"Such as notes/today.md."`
	Offset int    `json:"offset,omitempty" jsonschema:"Skip so many characters, to read on in a long file." wire:"min=0"`
	Page   int    `json:"page,omitempty" jsonschema:"Of a PDF file: the first page to read; 1 when absent." wire:"min=0"`
	As     pageAs `json:"as,omitempty" jsonschema:"Of a PDF file: text when absent; pictures for scans, figures and layout."`
}

type pathInput struct {
	Path string `json:"path" jsonschema:"Such as notes/today.md."`
}

type folderInput struct {
	Path string `json:"path,omitempty" jsonschema:"The folder; the whole storage when absent."`
}

type writeInput struct {
	Path    string `json:"path" jsonschema:"Such as notes/today.md."`
	Content string `json:"content"`
}

// fileCall is a call that reads or changes the session's files.
type fileCall struct{ *use }

// storageError returns the error for the agent. Errors of the operating system may contain paths
// of the host, so they are only logged.
func (u fileCall) storageError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		u.seen.forget(u.fileKey(name)) // a new file replaces nothing
	}
	name = truncate(name, 200)
	for _, plain := range []error{files.ErrName, files.ErrTooLarge, files.ErrFull, files.ErrBusy, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, plain) {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %q in storage", name)
	}
	u.cfg.Logger.Warn("a file could not be used", "session", u.Session, "file", name, "error", err)
	return fmt.Errorf("storage cannot use %q; try again later", name)
}

// readAll reads a whole file. A file of more than limit bytes is an error.
func (u fileCall) readAll(ctx context.Context, name string, limit int64) ([]byte, error) {
	f, e, err := u.cfg.Files.Open(ctx, u.Session, name)
	if err != nil {
		return nil, u.storageError(name, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if e.Size > limit {
		return nil, fmt.Errorf("%q has %d bytes; at most %d can be read", truncate(name, 200), e.Size, limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, u.storageError(name, err)
	}
	u.seen.record(u.fileKey(name), e.ETag)
	return data, nil
}

func readFile(ctx context.Context, u *use, in readInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if r, done, err := (pdfCall{u}).readPDF(ctx, in); done || err != nil {
			return r, err
		}
		data, err := fileCall{u}.readAll(ctx, in.Path, max(maxText, maxImage))
		if err != nil {
			return providers.ToolResult{}, err
		}
		return contentOf(in, data), nil
	})
}

// fileSource names a file as a source of data. People upload files that others wrote, and agents write what
// they have read into files.
func fileSource(name string) string { return "the file " + truncate(name, sourceRunes/2) }

// coversTimeout bounds the look at a file before a question. Without an answer the user is asked.
const coversTimeout = 10 * time.Second

// overwrites says what the answer to the question covers whether a file may be written: the same file again.
// A new file replaces nothing.
func overwrites(u *use, in writeInput) coverage {
	ctx, cancel := context.WithTimeout(context.Background(), coversTimeout)
	defer cancel()
	f, _, err := u.cfg.Files.Open(ctx, u.Session, in.Path)
	if err == nil {
		_ = f.Close() // opened for reading only
	}
	return coverage{scope: "write " + in.Path, harmless: errors.Is(err, fs.ErrNotExist)}
}

// contentOf returns the result of reading a file: an image, or the text from the offset on with
// a note where to continue.
func contentOf(in readInput, data []byte) providers.ToolResult {
	kind := http.DetectContentType(data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return providers.ToolResult{
			Text:   fmt.Sprintf("%q is a picture of %d bytes.", in.Path, len(data)),
			Images: []providers.Image{{MediaType: kind, Data: data}},
			Source: fileSource(in.Path),
		}
	}
	if !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0 {
		return failf("%q is neither text nor a picture (%s, %d bytes).", in.Path, kind, len(data))
	}
	if len(data) > maxText {
		return failf("%q has %d bytes of text; at most %d can be read.", in.Path, len(data), maxText)
	}
	if len(data) == 0 {
		return textf("%q is empty.", in.Path)
	}
	whole := string(data)
	total := utf8.RuneCountInString(whole)
	if in.Offset > total {
		return failf("%q has %d characters, there is nothing at %d.", in.Path, total, in.Offset)
	}
	rest := whole[len(truncate(whole, in.Offset)):]
	const room = maxResult - 1000 // leaves room for the tag and the note
	shown := truncate(rest, room)
	r := outsideFile(fileSource(in.Path), text(shown))
	if len(shown) < len(rest) {
		r.Text += fmt.Sprintf("\n[characters %d to %d of %d; read on with offset %d]", in.Offset, in.Offset+room, total, in.Offset+room)
	}
	return r
}

// fileLine is an entry in the result of storage:list.
type fileLine struct {
	Path     string `json:"path"`
	Folder   bool   `json:"isDirectory,omitempty"`
	Size     int64  `json:"size,omitempty"`
	Modified string `json:"modifiedAt,omitempty"`
}

// maxListed bounds the files in a list.
const maxListed = 500

func listFiles(ctx context.Context, u *use, in folderInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		folder := strings.Trim(in.Path, "/")
		if folder == "." {
			folder = ""
		}
		entries, err := u.cfg.Files.List(ctx, u.Session, folder)
		if err != nil {
			return providers.ToolResult{}, fileCall{u}.storageError(cmp.Or(folder, "/"), err)
		}
		lines := []fileLine{}
		for _, e := range entries[:min(len(entries), maxListed)] {
			lines = append(lines, fileLine{e.Path, e.Folder, e.Size, e.Modified.UTC().Format("2006-01-02T15:04:05Z")})
		}
		r := asJSON(lines)
		if len(entries) > maxListed {
			r.Text += fmt.Sprintf("\n[%d of %d]", maxListed, len(entries))
		}
		return r, nil
	})
}

func writeFile(ctx context.Context, u *use, in writeInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		key := fileCall{u}.fileKey(in.Path)
		e, err := u.cfg.Files.SaveIf(ctx, u.Session, in.Path, strings.NewReader(in.Content), int64(len(in.Content)), files.Condition{ETag: u.seen.etag(key)})
		if errors.Is(err, files.ErrChanged) {
			return failf("%q was changed by somebody else since you read it, so it was not written. Read it again and keep that change.", truncate(in.Path, 200)), nil
		}
		if err != nil {
			return providers.ToolResult{}, fileCall{u}.storageError(in.Path, err)
		}
		u.seen.record(key, e.ETag)
		return textf("Wrote %d bytes to %q.", e.Size, e.Path), nil
	})
}

func deleteFile(ctx context.Context, u *use, in pathInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if _, err := u.cfg.Files.Trash(ctx, u.Session, in.Path); err != nil {
			return providers.ToolResult{}, fileCall{u}.storageError(in.Path, err)
		}
		u.seen.forget(fileCall{u}.fileKey(in.Path))
		return textf("Deleted %q. The user can undo that for a day.", in.Path), nil
	})
}

// topLevel returns up to 50 top-level names in a session's storage, for the system prompt.
func (e *Executor) topLevel(ctx context.Context, c Caller) []string {
	entries, err := e.cfg.Files.List(ctx, c.Session, "")
	if err != nil {
		e.cfg.Logger.Warn("a desktop's storage could not be listed", "session", c.Session, "error", err)
		return nil
	}
	var names []string
	for _, f := range entries[:min(len(entries), 50)] {
		if f.Folder {
			f.Path += "/"
		}
		names = append(names, f.Path)
	}
	return names
}
