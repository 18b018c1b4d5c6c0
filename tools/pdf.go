package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/pdf"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
)

// PDF reads PDF files; [pdf.Reader] implements it.
type PDF interface {
	// Pages returns the number of pages of a file.
	Pages(ctx context.Context, f *os.File) (int, error)
	// Text returns the text of pages, the first of which is 1, at most [pdf.MaxTextPages] of them.
	Text(ctx context.Context, f *os.File, first, last int) ([]string, error)
	// Picture returns a page as a JPEG.
	Picture(ctx context.Context, f *os.File, page int) ([]byte, error)
}

// pageAs is the form in which pages of a PDF file are read.
type pageAs string

const (
	asText     pageAs = "text"
	asPictures pageAs = "pictures"
)

// pdfCall is a call that reads a PDF file.
type pdfCall struct{ *use }

// readPDF reads pages of a PDF file; done is false if the file is none.
func (u pdfCall) readPDF(ctx context.Context, in readInput) (r providers.ToolResult, done bool, err error) {
	f, _, err := u.cfg.Files.OpenLocal(ctx, u.Session, in.Path)
	if err != nil {
		return r, true, fileCall(u).storageError(in.Path, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	begin := make([]byte, 5)
	if _, err := io.ReadFull(f, begin); err != nil || !bytes.Equal(begin, []byte("%PDF-")) {
		if in.Page > 0 || in.As != "" {
			return failf("%q is no PDF file: leave out page and as.", in.Path), true, nil
		}
		return r, false, nil
	}
	if u.cfg.PDF == nil {
		return r, true, pdf.ErrMissing
	}
	total, err := u.cfg.PDF.Pages(ctx, f)
	if err != nil {
		return r, true, u.pdfError(in.Path, err)
	}
	first := max(in.Page, 1)
	switch {
	case first > total:
		return failf("%q has %d pages, there is no page %d.", in.Path, total, first), true, nil
	case in.As == asPictures:
		r, err = u.pagePictures(ctx, f, in.Path, first, total)
	default:
		r, err = u.pageTexts(ctx, f, in, first, total)
	}
	return r, true, err
}

// pdfError returns the error for the agent. Those of the system may contain paths of the host, so
// they are only logged.
func (u pdfCall) pdfError(name string, err error) error {
	for _, plain := range []error{pdf.ErrMissing, pdf.ErrEncrypted, pdf.ErrDamaged, pdf.ErrTooComplex, pdf.ErrTooLarge, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, plain) {
			return fmt.Errorf("%q: %w", truncate(name, 200), err)
		}
	}
	return fileCall(u).storageError(name, err)
}

// pageTexts returns the text of pages, as many as a result has room for, marked as data, with a note
// where to continue.
func (u pdfCall) pageTexts(ctx context.Context, f *os.File, in readInput, first, total int) (providers.ToolResult, error) {
	texts, err := u.cfg.PDF.Text(ctx, f, first, min(total, first+pdf.MaxTextPages-1))
	if err != nil {
		return providers.ToolResult{}, u.pdfError(in.Path, err)
	}
	if len(texts) == 0 {
		return providers.ToolResult{}, u.pdfError(in.Path, pdf.ErrDamaged)
	}
	if strings.TrimSpace(strings.Join(texts, "")) == "" {
		return textf("Pages %d to %d of %d of %q have no text; they may be scanned. Read them with as \"pictures\".", first, first+len(texts)-1, total, in.Path), nil
	}
	const room = maxResult - 2_000 // leaves room for the tags and the note
	var b strings.Builder
	used, last, note := 0, first, ""
	for i, t := range texts {
		page, offset := first+i, 0
		if i == 0 {
			offset = in.Offset
		}
		t = policies.Escape(t)
		length := utf8.RuneCountInString(t)
		if offset > length {
			return failf("Page %d of %q has %d characters, there is nothing at %d.", page, in.Path, length, offset), nil
		}
		rest := t[len(truncate(t, offset)):]
		if i > 0 && used+utf8.RuneCountInString(rest)+100 > room {
			break
		}
		shown := truncate(rest, room)
		fmt.Fprintf(&b, "<page number=\"%d\">\n%s\n</page>\n", page, shown)
		used, last = used+utf8.RuneCountInString(shown)+100, page
		if len(shown) < len(rest) {
			note = fmt.Sprintf("\n[page %d goes on; read on with page %d and offset %d]", page, page, offset+room)
			break
		}
	}
	if note == "" && last < total {
		note = fmt.Sprintf("\n[pages %d to %d of %d; read on with page %d]", first, last, total, last+1)
	}
	return textf("<pdf path=\"%s\" pages=\"%d\">\n%s</pdf>%s", policies.EscapeAttribute(truncate(in.Path, 500)), total, b.String(), note), nil
}

// pagePictures returns pages as pictures.
func (u pdfCall) pagePictures(ctx context.Context, f *os.File, name string, first, total int) (providers.ToolResult, error) {
	last := min(total, first+pdf.MaxPictures-1)
	r := textf("Pages %d to %d of %d of %q as pictures.", first, last, total, name)
	for page := first; page <= last; page++ {
		data, err := u.cfg.PDF.Picture(ctx, f, page)
		if err != nil {
			return providers.ToolResult{}, u.pdfError(name, err)
		}
		r.Images = append(r.Images, providers.Image{MediaType: "image/jpeg", Data: data})
	}
	if last < total {
		r.Text += fmt.Sprintf("\n[read on with page %d]", last+1)
	}
	return r, nil
}
