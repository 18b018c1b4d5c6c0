package pictures

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"

	xdraw "golang.org/x/image/draw"
)

// fitOne returns a picture with at most limit bytes and at most [MaxSide] pixels a side.
func fitOne(data []byte, limit int) (fitted []byte, mediaType string, err error) {
	h, c, err := readHeader(data)
	if err != nil {
		return nil, "", err
	}
	if len(data) <= limit && h.side() <= MaxSide {
		return data, h.mediaType, nil
	}
	if h.decoded > MaxDecoded {
		return nil, "", refuse("the picture has %d × %d pixels, which is more than the hub can decode", h.width, h.height)
	}
	decoded, err := c.decode(data)
	if err != nil {
		return nil, "", refuse("the picture cannot be decoded: %v", err)
	}
	picture := turned(scaled(decoded, MaxSide), orientation(data, h.mediaType))
	if h.mediaType == "image/png" || h.mediaType == "image/gif" { // drawings stay sharp if they fit
		var b bytes.Buffer
		if err := png.Encode(&b, picture); err == nil && b.Len() <= limit {
			return b.Bytes(), "image/png", nil
		}
	}
	return encodeWithin(picture, limit)
}

// encodeWithin encodes a picture as a JPEG of at most limit bytes, as large and as good as possible.
func encodeWithin(picture *image.RGBA, limit int) ([]byte, string, error) {
	picture = onWhite(picture)
	side := MaxSide
	for side >= 64 {
		smaller := scaled(picture, side)
		var b bytes.Buffer
		for _, quality := range []int{80, 60, 45} {
			b.Reset()
			if err := jpeg.Encode(&b, smaller, &jpeg.Options{Quality: quality}); err != nil {
				return nil, "", refuse("the picture cannot be encoded: %v", err)
			}
			if b.Len() <= limit {
				return b.Bytes(), "image/jpeg", nil
			}
		}
		// The bytes are about proportional to the pixels.
		side = min(side*9/10, int(float64(max(smaller.Rect.Dx(), smaller.Rect.Dy()))*math.Sqrt(float64(limit)/float64(b.Len()))))
	}
	return nil, "", refuse("the picture is too large beside the others")
}

// scaled returns a picture whose longer side has at most so many pixels.
func scaled(src image.Image, side int) *image.RGBA {
	size := src.Bounds()
	longer := max(size.Dx(), size.Dy())
	small := averaged(src, longer/side)
	if longer <= side {
		return small
	}
	to := image.Rect(0, 0, max(size.Dx()*side/longer, 1), max(size.Dy()*side/longer, 1))
	if small.Rect == to {
		return small
	}
	out := image.NewRGBA(to)
	// It takes no memory in proportion to the source, and is exact for a factor below 2.
	xdraw.ApproxBiLinear.Scale(out, to, small, small.Rect, xdraw.Src, nil)
	return out
}

// averaged returns a picture in which each pixel is the average of a square of so many pixels a side. It
// converts the source in strips, so that it takes no memory in proportion to it.
func averaged(src image.Image, n int) *image.RGBA {
	size := src.Bounds()
	if n <= 1 {
		out := image.NewRGBA(image.Rect(0, 0, size.Dx(), size.Dy()))
		draw.Draw(out, out.Rect, src, size.Min, draw.Src)
		return out
	}
	out := image.NewRGBA(image.Rect(0, 0, max(size.Dx()/n, 1), max(size.Dy()/n, 1)))
	strip := image.NewRGBA(image.Rect(0, 0, size.Dx(), min(n, size.Dy())))
	sums := make([]int, 4*out.Rect.Dx())
	for y := range out.Rect.Dy() {
		draw.Draw(strip, strip.Rect, src, size.Min.Add(image.Pt(0, y*n)), draw.Src)
		clear(sums)
		wide := min(n, size.Dx())
		for row := range strip.Rect.Dy() {
			line := strip.Pix[row*strip.Stride:]
			for i := range sums {
				x, channel := i/4*n, i%4
				for k := range wide {
					sums[i] += int(line[4*(x+k)+channel])
				}
			}
		}
		area := wide * strip.Rect.Dy()
		for i, sum := range sums {
			out.Pix[y*out.Stride+i] = byte(sum / area) //nolint:gosec // an average of bytes
		}
	}
	return out
}

// onWhite returns a picture without transparency, which JPEG does not have.
func onWhite(src *image.RGBA) *image.RGBA {
	if src.Opaque() {
		return src
	}
	out := image.NewRGBA(src.Rect)
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, src, src.Rect.Min, draw.Over)
	return out
}

// turned returns a picture as it is meant to be seen: cameras store an orientation (1 to 8, as EXIF
// counts) that the encoded picture has not.
func turned(src *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 || orientation > 8 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(out.Pix[out.PixOffset(tx, ty):][:4], src.Pix[src.PixOffset(x, y):][:4])
		}
	}
	return out
}

// orientation returns the EXIF orientation of a JPEG, or 0.
func orientation(data []byte, mediaType string) int {
	const orientationTag = 0x0112
	if mediaType != "image/jpeg" {
		return 0
	}
	exif := exifOf(data)
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case len(exif) < 8:
		return 0
	case string(exif[:2]) == "II":
		order = binary.LittleEndian
	}
	at := int(order.Uint32(exif[4:]))
	if at < 8 || at+2 > len(exif) {
		return 0
	}
	const entryBytes = 12
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < entryBytes {
			return 0
		}
		if order.Uint16(entries) == orientationTag {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[entryBytes:]
	}
	return 0
}

// exifOf returns the TIFF structure with the EXIF data of a JPEG, or nil.
func exifOf(data []byte) []byte {
	const app1, startOfScan = 0xe1, 0xda
	for i := 2; i+4 <= len(data) && data[i] == 0xff; {
		marker, size := data[i+1], int(binary.BigEndian.Uint16(data[i+2:]))
		end := i + 2 + size
		if marker == startOfScan || size < 2 || end > len(data) {
			return nil
		}
		if rest, ok := bytes.CutPrefix(data[i+4:end], []byte("Exif\x00\x00")); ok && marker == app1 {
			return rest
		}
		i = end
	}
	return nil
}
