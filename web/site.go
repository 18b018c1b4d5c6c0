package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Desktop is the embedded desktop page.
var Desktop = sync.OnceValue(func() *Site { return embedded("desktop") })

// Admin is the embedded admin page. It is built to be served below /admin/: its file assets/x is
// requested as /admin/assets/x.
var Admin = sync.OnceValue(func() *Site { return embedded("admin") })

// Apps are the embedded frames for html windows and apps. They must be served from an origin of
// their own.
var Apps = sync.OnceValue(func() *Site { return embedded("apps") })

func embedded(folder string) *Site {
	files, err := fs.Sub(dist, "dist/"+folder)
	if err != nil {
		panic(err) // cannot fail: the name is valid
	}
	site, err := NewSite(files)
	if err != nil {
		panic(err) // embedded in the program
	}
	return site
}

// Site is a set of immutable files.
type Site struct {
	files map[string]file
}

// file is a file with its compressed variants, smallest first.
type file struct {
	media, cache string
	variants     []variant
}

// variant is one encoding of a file.
type variant struct {
	encoding string // empty for uncompressed
	etag     string
	size     int64
	open     func() (fs.File, error)
}

// encodings are the supported compressions, better first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// hashedFolder has the files whose names contain a hash of their content; such a file never
// changes.
const hashedFolder = "assets/"

// NewSite reads the files of a folder.
func NewSite(folder fs.FS) (*Site, error) {
	s := &Site{files: map[string]file{}}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == ".":
			return nil
		case err != nil || d.IsDir():
			return err
		}
		for _, e := range encodings {
			if plain, ok := strings.CutSuffix(name, e.suffix); ok && exists(folder, plain) {
				return nil
			}
		}
		f, err := readFile(folder, name)
		if err == nil {
			s.files[name] = f
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	return s, nil
}

func exists(folder fs.FS, name string) bool {
	_, err := fs.Stat(folder, name)
	return err == nil
}

// readFile reads a file and finds its compressed variants.
func readFile(folder fs.FS, name string) (file, error) {
	data, err := fs.ReadFile(folder, name)
	if err != nil {
		return file{}, err
	}
	f := file{media: MediaType(name), cache: "no-cache"}
	if strings.HasPrefix(name, hashedFolder) {
		f.cache = "public, max-age=31536000, immutable"
	}
	sum := sha256.Sum256(data)
	tag := base64.RawURLEncoding.EncodeToString(sum[:12])
	for _, e := range encodings {
		info, err := fs.Stat(folder, name+e.suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file{}, err
		}
		// A strong ETag identifies the exact bytes, so each encoding has its own.
		f.variants = append(f.variants, variant{
			encoding: e.name, etag: `"` + tag + "-" + e.name + `"`, size: info.Size(),
			open: func() (fs.File, error) { return folder.Open(name + e.suffix) },
		})
	}
	f.variants = append(f.variants, variant{
		etag: `"` + tag + `"`, size: int64(len(data)),
		open: func() (fs.File, error) { return folder.Open(name) },
	})
	return f, nil
}

// Names returns the names of all files, sorted.
func (s *Site) Names() []string { return slices.Sorted(maps.Keys(s.files)) }

// Has reports whether there is a file of that name.
func (s *Site) Has(name string) bool { _, ok := s.files[name]; return ok }

// Content returns a file, uncompressed; nil if there is none or it cannot be read any more.
func (s *Site) Content(name string) []byte {
	f, ok := s.files[name]
	if !ok {
		return nil
	}
	var content bytes.Buffer
	if err := f.variants[len(f.variants)-1].send(&content); err != nil {
		return nil
	}
	return content.Bytes()
}

// Serve sends the file of that name, which must exist. The error is that of an incomplete response.
func (s *Site) Serve(w http.ResponseWriter, r *http.Request, name string) error {
	f, ok := s.files[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	chosen := f.choose(r.Header.Values("Accept-Encoding"))
	h := w.Header()
	h.Set("Cache-Control", f.cache)
	h.Set("ETag", chosen.etag)
	if len(f.variants) > 1 {
		h.Add("Vary", "Accept-Encoding")
	}
	if matchesETag(r.Header.Values("If-None-Match"), chosen.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.FormatInt(chosen.size, 10))
	if chosen.encoding != "" {
		h.Set("Content-Encoding", chosen.encoding)
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return chosen.send(w)
}

func (f variant) send(w io.Writer) error {
	in, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	_, err = io.Copy(w, in)
	return err
}

// choose returns the smallest variant that the browser accepts, or the uncompressed file if it
// accepts none.
func (f file) choose(accept []string) variant {
	order := parseAcceptEncoding(accept)
	best, rank := f.variants[len(f.variants)-1], 0.0
	for _, candidate := range f.variants {
		if q := order.quality(candidate.encoding); q > rank {
			best, rank = candidate, q
		}
	}
	return best
}

// preference has a browser's quality values of encodings, from 0 to 1.
type preference map[string]float64

// parseAcceptEncoding parses Accept-Encoding headers. An invalid quality counts as 0.
func parseAcceptEncoding(accept []string) preference {
	p := preference{}
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		p[strings.TrimPrefix(name, "x-")] = quality(params)
	}
	return p
}

func quality(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !strings.EqualFold(strings.TrimSpace(name), "q") || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

func (p preference) quality(encoding string) float64 {
	if encoding == "" {
		encoding = "identity"
	}
	if q, ok := p[encoding]; ok {
		return q
	}
	if q, ok := p["*"]; ok {
		return q
	}
	if encoding == "identity" {
		return minQuality // always possible, never preferred
	}
	return 0
}

// minQuality is smaller than any quality that a header can express.
const minQuality = 0.0001

// matchesETag reports whether one of the tags equals ours. A proxy may have made it weak.
func matchesETag(tags []string, ours string) bool {
	for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == ours || tag == "*" {
			return true
		}
	}
	return false
}
