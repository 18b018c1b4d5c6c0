package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// document is a PDF file in the making.
type document struct {
	objects []string
	// trailer is added to the trailer.
	trailer string
}

// newDocument returns a document with a page for each content stream. What a test adds to the tree of
// pages replaces its number of pages.
func newDocument(count string, streams ...string) *document {
	d := &document{}
	var kids strings.Builder
	for i := range streams {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	if count == "" {
		count = fmt.Sprintf("/Count %d", len(streams))
	}
	d.objects = []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Kids [%s] %s >>", kids.String(), count),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	for i, s := range streams {
		d.objects = append(d.objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i), s)
	}
	return d
}

// stream returns an object with content.
func stream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// words returns the content of a page with a text.
func words(text string) string { return stream("BT /F1 18 Tf 20 100 Td (" + text + ") Tj ET") }

// packed returns an object with content that is compressed as many times as given.
func packed(tb testing.TB, content []byte, times int) string {
	tb.Helper()
	for range times {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write(content); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
		content = b.Bytes()
	}
	return fmt.Sprintf("<< /Length %d /Filter [%s] >>\nstream\n%s\nendstream", len(content), strings.Repeat("/FlateDecode ", times), content)
}

// bytes returns the file.
func (d *document) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	offsets := make([]int, len(d.objects))
	for i, o := range d.objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(d.objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(d.objects)+1, d.trailer, start)
	return b.Bytes()
}

// open returns an open file with content.
func open(tb testing.TB, content []byte) *os.File {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "f.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}
