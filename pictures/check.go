package pictures

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"golang.org/x/image/webp"
)

// Bounds of pictures.
const (
	// MaxSide is the length in pixels to which the longer side of a picture is scaled: models do not
	// see more.
	MaxSide = 1568
	// MaxKeptSide bounds the sides of a picture that is not scaled; model servers refuse larger ones.
	MaxKeptSide = 8000
	// MaxDecoded bounds the memory for a decoded picture, in bytes.
	MaxDecoded = 160 << 20
)

// Error is the reason why a picture is refused.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// header describes a picture as its first bytes do.
type header struct {
	mediaType     string
	width, height int
	// decoded estimates the memory that the decoder takes, in bytes.
	decoded int64
}

func (h header) side() int { return max(h.width, h.height) }

// codec reads a format.
type codec struct {
	mediaType string
	matches   func(data []byte) bool
	config    func(data []byte) (image.Config, error)
	decode    func(data []byte) (image.Image, error)
}

// codecs returns the formats that models can read.
func codecs() []codec {
	starts := func(magic string) func([]byte) bool {
		return func(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }
	}
	return []codec{
		{
			"image/png", starts("\x89PNG\r\n\x1a\n"),
			func(d []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(d)) },
			func(d []byte) (image.Image, error) { return png.Decode(bytes.NewReader(d)) },
		},
		{
			"image/jpeg", starts("\xff\xd8\xff"),
			func(d []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(d)) },
			func(d []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(d)) },
		},
		{
			"image/gif", starts("GIF8"),
			func(d []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(d)) },
			func(d []byte) (image.Image, error) { return gif.Decode(bytes.NewReader(d)) },
		},
		{
			"image/webp", func(d []byte) bool { return len(d) > 12 && string(d[:4]) == "RIFF" && string(d[8:12]) == "WEBP" },
			func(d []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(d)) },
			func(d []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(d)) },
		},
	}
}

// codecOf returns the codec for a picture.
func codecOf(data []byte) (codec, error) {
	for _, c := range codecs() {
		if c.matches(data) {
			return c, nil
		}
	}
	return codec{}, refuse("the picture is not PNG, JPEG, GIF or WebP")
}

// Check returns the media type of a picture that a model can read as it is, or an [Error]. It reads
// only the header.
func Check(data []byte) (mediaType string, err error) {
	h, _, err := readHeader(data)
	if err != nil {
		return "", err
	}
	if h.side() > MaxKeptSide {
		return "", refuse("the picture has %d × %d pixels; at most %d a side are possible", h.width, h.height, MaxKeptSide)
	}
	return h.mediaType, nil
}

// readHeader reads the size of a picture.
func readHeader(data []byte) (header, codec, error) {
	c, err := codecOf(data)
	if err != nil {
		return header{}, c, err
	}
	cfg, err := c.config(data)
	if err != nil {
		return header{}, c, refuse("the picture cannot be read: %v", err)
	}
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return header{}, c, refuse("the picture is empty")
	}
	h := header{mediaType: c.mediaType, width: cfg.Width, height: cfg.Height}
	pixels := int64(cfg.Width) * int64(cfg.Height) // both have at most 32 bits
	if pixels > MaxDecoded {
		h.decoded = pixels // enough to refuse it, and the product below cannot overflow
		return h, c, nil
	}
	h.decoded = pixels * int64(pixelBytes(cfg.ColorModel))
	if c.mediaType == "image/jpeg" {
		h.decoded = pixels * int64(jpegPixelBytes(data))
	}
	return h, c, nil
}

// pixelBytes returns the bytes of a decoded pixel.
func pixelBytes(m color.Model) int {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	case color.YCbCrModel, color.NYCbCrAModel:
		return 4
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

// jpegPixelBytes returns the bytes that the decoder takes for a pixel of a JPEG, rounded up: the samples,
// and for a progressive picture all coefficients, which have 4 bytes each.
func jpegPixelBytes(data []byte) int {
	const worst = 20 // progressive, 4 components in full resolution
	for i := 2; i+4 <= len(data); {
		marker, size := data[i+1], int(binary.BigEndian.Uint16(data[i+2:]))
		switch {
		case data[i] != 0xff:
			return worst
		case marker == 0xff:
			i++
			continue
		case marker < 0xc0 || marker > 0xc2:
			i += 2 + size
			continue
		}
		return jpegSampleBytes(data[i+4:min(i+2+max(size, 2), len(data))], marker == 0xc2)
	}
	return worst
}

// jpegSampleBytes is jpegPixelBytes for the content of a start-of-frame segment.
func jpegSampleBytes(frame []byte, progressive bool) int {
	const componentBytes = 3
	if len(frame) < 6 || len(frame) < 6+componentBytes*int(frame[5]) {
		return 20
	}
	samples, hMax, vMax := 0, 1, 1
	for c := range int(frame[5]) {
		h, v := int(frame[7+componentBytes*c]>>4), int(frame[7+componentBytes*c]&15)
		samples, hMax, vMax = samples+h*v, max(hMax, h), max(vMax, v)
	}
	bytesPerSample := 1
	if progressive {
		bytesPerSample += 4
	}
	return (samples*bytesPerSample + hMax*vMax - 1) / (hMax * vMax)
}

// parseURL returns the bytes of a picture in a data: URL, or in base64 without the beginning of one.
func parseURL(url string) ([]byte, error) {
	if head, data, ok := strings.Cut(url, ","); ok {
		if !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
			return nil, refuse("a picture must be a data: URL with base64 data")
		}
		url = data
	}
	data, err := base64.StdEncoding.DecodeString(url)
	if err != nil {
		return nil, refuse("the base64 data of a picture cannot be decoded: %v", err)
	}
	return data, nil
}
