package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/jpeg"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/pdf"
)

func newReader(tb testing.TB) *pdf.Reader {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return pdf.New(pdf.Config{Path: path})
}

func TestPagesTextAndPictures(t *testing.T) {
	t.Parallel()
	r, f := newReader(t), open(t, newDocument("", words("Hello one"), words("second"), words("third")).bytes())
	if n, err := r.Pages(t.Context(), f); n != 3 || err != nil {
		t.Errorf("the file has %d pages, %v, want 3", n, err)
	}
	texts, err := r.Text(t.Context(), f, 2, 9)
	if want := []string{"second", "third"}; err != nil || !slices.Equal(trimmed(texts), want) {
		t.Errorf("the text of pages 2 to 9 is %q, %v, want %q", texts, err, want)
	}
	picture, err := r.Picture(t.Context(), f, 1)
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil || img.Bounds().Dx() != 1400 || img.Bounds().Dy() < 900 {
		t.Errorf("the picture of page 1 is %v, %v, want one that is 1400 wide", img, err)
	}
}

// trimmed returns texts without the spaces around them: the layout of a page is kept with spaces.
func trimmed(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

func TestTextIsReadInParts(t *testing.T) {
	t.Parallel()
	pages := make([]string, 30)
	for i := range pages {
		pages[i] = words(fmt.Sprint("page ", i+1))
	}
	texts, err := newReader(t).Text(t.Context(), open(t, newDocument("", pages...).bytes()), 5, 30)
	if got := trimmed(texts); err != nil || len(got) != pdf.MaxTextPages || got[0] != "page 5" || got[19] != "page 24" {
		t.Errorf("the text of pages 5 to 30 is %q, %v, want that of 5 to 24", got, err)
	}
}

// Every file ends in a clear error or in a result, and never in more than the bounds allow.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	good := newDocument("", words("one"), words("two")).bytes()
	encrypted := newDocument("", words("one"))
	encrypted.objects = append(encrypted.objects, fmt.Sprintf("<< /Filter /Standard /V 1 /R 2 /P -4 /O <%064d> /U <%064d> >>", 1, 2))
	encrypted.trailer = fmt.Sprintf("/Encrypt %d 0 R /ID [<00> <00>]", len(encrypted.objects))
	endless := newDocument("", words("one"))
	endless.objects[1] = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
	long := "BT /F1 1 Tf 20 100 Td " + strings.Repeat("(aaaaaaaaaaaaaaaaaaaaaaaa) Tj\n", 1<<20) + " ET"
	for name, tt := range map[string]struct {
		file []byte
		want []error
	}{
		"empty":                 {nil, []error{pdf.ErrDamaged}},
		"no PDF":                {[]byte("%PDF-1.4 and nothing else"), []error{pdf.ErrDamaged}},
		"without its beginning": {good[len(good)/3:], []error{pdf.ErrDamaged}},
		"encrypted":             {encrypted.bytes(), []error{pdf.ErrEncrypted}},
		"a tree without an end": {endless.bytes(), []error{nil, pdf.ErrDamaged, pdf.ErrTooComplex}},
		"a bomb":                {newDocument("", packed(t, []byte(long), 2)).bytes(), []error{nil, pdf.ErrTooComplex, pdf.ErrTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := newReader(t), open(t, tt.file)
			var texts []string
			_, err := r.Pages(t.Context(), f)
			if err == nil {
				texts, err = r.Text(t.Context(), f, 1, 1)
			}
			if got := strings.Join(texts, ""); len(got) > 4<<20 {
				t.Errorf("the text has %d bytes, want at most 4 MiB", len(got))
			}
			if !slices.ContainsFunc(tt.want, func(w error) bool { return errors.Is(err, w) }) {
				t.Errorf("reading gives %v, want one of %v", err, tt.want)
			}
		})
	}
}

func TestPretendedPagesAreNotRead(t *testing.T) {
	t.Parallel()
	r, f := newReader(t), open(t, newDocument("/Count 2000000000", words("one")).bytes())
	if _, err := r.Pages(t.Context(), f); err != nil && !errors.Is(err, pdf.ErrDamaged) {
		t.Errorf("counting gives %v, want a number or %v", err, pdf.ErrDamaged)
	}
	texts, err := r.Text(t.Context(), f, 1, 2_000_000_000)
	if len(texts) > pdf.MaxTextPages || err != nil && !errors.Is(err, pdf.ErrDamaged) {
		t.Errorf("the text has %d pages, %v, want at most %d", len(texts), err, pdf.MaxTextPages)
	}
}

func TestLargeFilesAreRefused(t *testing.T) {
	t.Parallel()
	f := open(t, nil)
	if err := os.Truncate(f.Name(), pdf.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := newReader(t).Pages(t.Context(), f); !errors.Is(err, pdf.ErrTooLarge) {
		t.Errorf("a large file gives %v, want %v", err, pdf.ErrTooLarge)
	}
}

func TestInterruptedCallEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := newReader(t).Pages(ctx, open(t, newDocument("", words("one")).bytes())); !errors.Is(err, stop) {
		t.Errorf("an interrupted call gives %v, want %v", err, stop)
	}
}

func TestMissingProgramsAreNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := newReader(t).Pages(t.Context(), open(t, nil)); !errors.Is(err, pdf.ErrMissing) || !strings.Contains(err.Error(), "poppler-utils") {
		t.Errorf("without the programs a call gives %v, want %v", err, pdf.ErrMissing)
	}
}

func FuzzRead(f *testing.F) {
	good := newDocument("", words("one"), words("two")).bytes()
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(bytes.ReplaceAll(good, []byte("/Length 4"), []byte("/Length 9999999994")))
	f.Add(bytes.ReplaceAll(good, []byte("0 R"), []byte("1 R")))
	f.Add(bytes.ReplaceAll(good, []byte("(one)"), []byte("(\x00\xff\f\f\f)")))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, opened := newReader(t), open(t, file)
		known := []error{nil, pdf.ErrDamaged, pdf.ErrEncrypted, pdf.ErrTooComplex, pdf.ErrTooLarge}
		_, counted := r.Pages(t.Context(), opened)
		texts, read := r.Text(t.Context(), opened, 1, 3)
		picture, drawn := r.Picture(t.Context(), opened, 1)
		for _, err := range []error{counted, read, drawn} {
			if !slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
				t.Errorf("reading gives %v, want one of %v", err, known)
			}
		}
		if len(texts) > 3 || drawn == nil && len(picture) == 0 {
			t.Errorf("reading gives %d pages and a picture of %d bytes, want at most 3 and a picture", len(texts), len(picture))
		}
	})
}
