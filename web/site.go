package web

import (
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

// Desktop is the page that people see.
var Desktop = sync.OnceValue(func() *Site { return embedded("desktop") })

// Admin is the page of those who look after the hubs. It is built to be served below
// /admin/: its file assets/x is asked for as /admin/assets/x.
var Admin = sync.OnceValue(func() *Site { return embedded("admin") })

// Apps are the frames for what agents write. They belong on an origin of their own.
var Apps = sync.OnceValue(func() *Site { return embedded("apps") })

func embedded(folder string) *Site {
	files, err := fs.Sub(dist, "dist/"+folder)
	if err != nil {
		panic(err) // the name is a good one
	}
	site, err := NewSite(files)
	if err != nil {
		panic(err) // it is part of the program
	}
	return site
}

// Site is a folder of files that do not change.
type Site struct {
	files map[string]file
}

// file is a file with its compressed forms, the smallest first.
type file struct {
	media, cache string
	variants     []variant
}

// variant is a file as it is sent.
type variant struct {
	encoding string // empty: as it is
	etag     string
	size     int64
	open     func() (fs.File, error)
}

// encodings are how files are compressed, the better first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// hashedFolder is where the build puts what it names by its content; such a file
// never changes.
const hashedFolder = "assets/"

// NewSite reads a folder.
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

// readFile looks a file and its compressed forms up.
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
		// A strong tag stands for the very bytes.
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

// Names are those of all files, in order.
func (s *Site) Names() []string { return slices.Sorted(maps.Keys(s.files)) }

// Has reports whether there is a file of that name.
func (s *Site) Has(name string) bool { _, ok := s.files[name]; return ok }

// Serve sends the file of that name, which has to be there. The error is that of a
// torn answer.
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
	defer func() { _ = in.Close() }() // it was only read
	_, err = io.Copy(w, in)
	return err
}

// choose is the smallest form that the browser takes. Who takes nothing of what is
// there gets the file as it is.
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

// preference is how much a browser likes each encoding, from 0 to 1.
type preference map[string]float64

// parseAcceptEncoding reads Accept-Encoding. What cannot be read counts as not wanted.
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

// minQuality is smaller than any quality that can be written.
const minQuality = 0.0001

// matchesETag reports whether one of the tags is ours. A proxy may have made it weak.
func matchesETag(tags []string, ours string) bool {
	for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == ours || tag == "*" {
			return true
		}
	}
	return false
}
