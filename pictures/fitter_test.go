package pictures_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/pictures"
)

// noise returns a picture that compresses badly.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

// halves returns a picture that is red on the left and blue on the right.
func halves(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.RGBA{B: 255, A: 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func asPNG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		tb.Fatalf("encode: %v, want no error", err)
	}
	return b.Bytes()
}

func asJPEG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		tb.Fatalf("encode: %v, want no error", err)
	}
	return b.Bytes()
}

func asGIF(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, img, nil); err != nil {
		tb.Fatalf("encode: %v, want no error", err)
	}
	return b.Bytes()
}

func url(kind string, data []byte) string {
	return "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// message returns a message with pictures.
func message(urls ...string) []byte {
	type interaction struct {
		Type      string `json:"type"`
		ImageData string `json:"imageData"`
	}
	all := []interaction{}
	for _, u := range urls {
		all = append(all, interaction{"draw", u})
	}
	data, _ := json.Marshal(map[string]any{"type": "USER_MESSAGE", "content": `a "quoted" \ text`, "interactions": all}) //nolint:errchkjson // strings
	return data
}

// fitted returns the pictures of a message after scaling.
func fitted(tb testing.TB, message []byte) [][]byte {
	tb.Helper()
	out, err := pictures.NewFitter().Fit(tb.Context(), message)
	if err != nil {
		tb.Fatalf("fit: %v, want no error", err)
	}
	var m struct {
		Content      string
		Interactions []struct{ ImageData string }
	}
	if err := json.Unmarshal(out, &m); err != nil {
		tb.Fatalf("the result is not JSON: %v", err)
	}
	if want := `a "quoted" \ text`; m.Content != want {
		tb.Errorf("the text is %q, want %q", m.Content, want)
	}
	var all [][]byte
	for _, i := range m.Interactions {
		head, data, _ := strings.Cut(i.ImageData, ",")
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			tb.Fatalf("a picture is not base64: %v", err)
		}
		kind, err := pictures.Check(raw)
		if err != nil || head != "data:"+kind+";base64" {
			tb.Errorf("a picture has the type %q (%v) and the URL %q, want the same type", kind, err, head)
		}
		all = append(all, raw)
	}
	return all
}

func decoded(tb testing.TB, data []byte) image.Image {
	tb.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("decode the result: %v, want no error", err)
	}
	return img
}

func TestLargePicturesAreScaled(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"png": asPNG(t, noise(1760, 110)), "jpeg": asJPEG(t, noise(3200, 200)), "gif": asGIF(t, noise(1600, 100)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fitted(t, message(url(name, data)))
			size := decoded(t, got[0]).Bounds()
			if len(got[0]) > pictures.MaxFitted || size.Dx() > pictures.MaxSide || size.Dx()/size.Dy() != 16 {
				t.Errorf("a picture of %d bytes became one of %d bytes with %v, want at most %d bytes and %d pixels, 16 times as wide as high",
					len(data), len(got[0]), size, pictures.MaxFitted, pictures.MaxSide)
			}
		})
	}
}

// A drawing stays a PNG with sharp edges if that is small enough.
func TestDrawingsStaySharp(t *testing.T) {
	t.Parallel()
	for _, w := range []int{1600, 3137} {
		got := decoded(t, fitted(t, message(url("png", asPNG(t, halves(w, w/16)))))[0])
		if got.Bounds().Dx() != pictures.MaxSide {
			t.Errorf("a picture of %d pixels has %d after scaling, want %d", w, got.Bounds().Dx(), pictures.MaxSide)
		}
		for x, want := range map[int]color.Color{0: color.RGBA{R: 255, A: 255}, 700: color.RGBA{R: 255, A: 255}, 900: color.RGBA{B: 255, A: 255}, pictures.MaxSide - 1: color.RGBA{B: 255, A: 255}} {
			if r, g, b, _ := got.At(x, 50).RGBA(); color.RGBAModel.Convert(color.RGBA64{uint16(r), uint16(g), uint16(b), 65535}) != want {
				t.Errorf("scaled from %d: pixel %d is %v, want %v", w, x, got.At(x, 50), want)
			}
		}
	}
}

// Small pictures stay as they are, byte by byte, and so does a message without pictures.
func TestSmallPicturesStay(t *testing.T) {
	t.Parallel()
	small := message(url("png", asPNG(t, noise(100, 50))), url("jpeg", asJPEG(t, noise(80, 80))))
	for _, m := range [][]byte{small, message(), []byte(`{"content":"\"data:image/png"}`), []byte(`"unterminated`)} {
		got, err := pictures.NewFitter().Fit(t.Context(), m)
		if err != nil || !bytes.Equal(got, m) {
			t.Errorf("got %.80q, %v; want the same message %.80q", got, err, m)
		}
	}
}

// Several pictures share the room; a small one leaves it to the others.
func TestPicturesShareTheRoom(t *testing.T) {
	t.Parallel()
	small := asPNG(t, noise(40, 40))
	got := fitted(t, message(url("jpeg", asJPEG(t, noise(1600, 100))), url("png", small), url("jpeg", asJPEG(t, noise(1600, 100)))))
	if !bytes.Equal(got[1], small) {
		t.Error("the small picture has changed, want it unchanged")
	}
	if sum := len(got[0]) + len(got[1]) + len(got[2]); sum > pictures.MaxFitted {
		t.Errorf("the pictures have %d bytes, want at most %d", sum, pictures.MaxFitted)
	}
}

// A picture without the beginning of a data: URL, as in a capture of a window, stays without it. Slashes
// may be escaped.
func TestOtherFormsOfPictures(t *testing.T) {
	t.Parallel()
	data := asJPEG(t, noise(1600, 100))
	capture := []byte(`{"renderer":"capture","imageData" : "` + base64.StdEncoding.EncodeToString(data) + `"}`)
	out, err := pictures.NewFitter().Fit(t.Context(), capture)
	var m struct{ ImageData []byte }
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if _, bad := pictures.Check(m.ImageData); err != nil || bad != nil || len(m.ImageData) > pictures.MaxFitted {
		t.Errorf("the capture became %d bytes (%v, %v), want a picture of at most %d", len(m.ImageData), err, bad, pictures.MaxFitted)
	}
	if got := fitted(t, bytes.ReplaceAll(message(url("jpeg", data)), []byte("/"), []byte(`\/`))); len(got[0]) > pictures.MaxFitted {
		t.Errorf("with escaped slashes it has %d bytes, want at most %d", len(got[0]), pictures.MaxFitted)
	}
}

// Cameras store how a picture is to be turned beside it.
func TestOrientation(t *testing.T) {
	t.Parallel()
	data := asJPEG(t, halves(1600, 200))
	exif := "Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(exif)+2))
	got := decoded(t, fitted(t, message(url("jpeg", append(append(segment, exif...), data[2:]...))))[0])
	if size := got.Bounds(); size.Dx() != size.Dy()/8 {
		t.Fatalf("the picture has %v, want it upright", size)
	}
	if r, _, b, _ := got.At(100, 10).RGBA(); r < 0xf000 || b > 0x1000 {
		t.Errorf("the top is %v, want red", got.At(100, 10))
	}
}

// bomb returns a small PNG that announces a huge picture.
func bomb(tb testing.TB, w, h uint32) []byte {
	tb.Helper()
	data := asPNG(tb, image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(data[16:], w)
	binary.BigEndian.PutUint32(data[20:], h)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return append(data, make([]byte, 4096)...)
}

func TestBadPicturesAreRefused(t *testing.T) {
	t.Parallel()
	cut := asPNG(t, noise(2000, 200))
	many := make([]string, pictures.MaxPictures+1)
	for i := range many {
		many[i] = url("png", asPNG(t, noise(40, 40)))
	}
	for name, tt := range map[string]struct {
		message []byte
		want    string
	}{
		"no picture":          {message(url("png", make([]byte, 5000))), "not PNG, JPEG, GIF or WebP"},
		"text":                {message("data:image/png;base64," + strings.Repeat("é", 2000)), "base64"},
		"no base64":           {message("data:image/png," + strings.Repeat("a", 2000)), "data: URL"},
		"cut off":             {message(url("png", cut[:len(cut)/2])), "cannot be decoded"},
		"only a beginning":    {message(url("jpeg", append([]byte("\xff\xd8\xff"), make([]byte, 5000)...))), "cannot be read"},
		"a bomb":              {message(url("png", bomb(t, 60_000, 60_000))), "more than the hub can decode"},
		"the largest bomb":    {message(url("png", bomb(t, 1<<31-1, 1<<31-1))), "picture"},
		"too many pictures":   {message(many...), "at most 16 pictures"},
		"nothing but a magic": {message(url("webp", append([]byte("RIFF\x00\x00\x00\x00WEBP"), make([]byte, 5000)...))), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pictures.NewFitter().Fit(t.Context(), tt.message)
			if e, ok := errors.AsType[*pictures.Error](err); !ok || !strings.Contains(e.Reason, tt.want) {
				t.Errorf("got the error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := pictures.Check(bomb(t, 9000, 10)); err == nil {
		t.Error("a picture of 9000 pixels is accepted as it is, want an error")
	}
}

// Long messages are read a few at a time.
func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	f := pictures.NewFitter()
	var releases []func()
	for range 4 {
		release, err := f.Acquire(t.Context())
		if err != nil {
			t.Fatalf("acquire: %v, want no error", err)
		}
		releases = append(releases, release)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Acquire(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the fifth message gets %v, want %v", err, context.Canceled)
	}
	releases[0]()
	if _, err := f.Acquire(t.Context()); err != nil {
		t.Errorf("after a release: %v, want no error", err)
	}
}

// FuzzFit checks that no picture and no message makes the fitter panic or return something large or
// something that is no picture.
func FuzzFit(f *testing.F) {
	for _, data := range [][]byte{
		asPNG(f, noise(60, 40)), asJPEG(f, noise(60, 40)), asGIF(f, noise(60, 40)), asPNG(f, halves(1700, 4)), bomb(f, 4000, 4000),
		[]byte("RIFF\x00\x00\x00\x00WEBPVP8 "),
	} {
		f.Add(data, `{"a":"`, `"}`)
	}
	f.Fuzz(func(t *testing.T, data []byte, before, after string) {
		pad := append(data, make([]byte, max(0, 1100-len(data)))...) // shorter strings are no pictures
		m := []byte(before + url("png", pad) + after)
		out, err := pictures.NewFitter().Fit(t.Context(), m)
		if err != nil {
			if _, ok := errors.AsType[*pictures.Error](err); !ok {
				t.Fatalf("got the error %v, want a *pictures.Error", err)
			}
			return
		}
		if base := len(before) + len(after); len(out) > len(m) && len(out) > base+pictures.MaxFitted*4/3+100 {
			t.Errorf("a message of %d bytes became one of %d, want at most %d", len(m), len(out), base+pictures.MaxFitted*4/3+100)
		}
		if json.Valid(m) && !json.Valid(out) {
			t.Errorf("the result is not JSON, want it as the message was")
		}
	})
}
