package gateway

import (
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/web"
)

// desktopPolicy is the content security policy of a desktop from [Config].DesktopDir. Scripts come
// from its own folder only, so that text of an agent cannot become a script. It is looser than that
// of the embedded desktop where such desktops need it: inline styles, images and frames from
// anywhere, WebSockets to any host.
const desktopPolicy = "default-src 'self'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; " +
	"img-src * data: blob:; media-src * data: blob:; font-src 'self' data:; connect-src 'self' ws: wss: data: blob:; " +
	"frame-src * data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"

// isHashed reports whether the name of a file contains a hash of its content: such a file never
// changes. Numbers and sizes, as in names of icons, are no hashes.
func isHashed(name string) bool {
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	hash := stem[strings.LastIndexAny(stem, ".-")+1:]
	return len(hash) >= 8 && len(hash) < len(stem) && strings.ContainsAny(hash, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		!numbers.MatchString(hash)
}

// numbers matches a number or a width and height.
var numbers = regexp.MustCompile(`^[0-9]+([xX][0-9]+)?$`)

// staticDesktop serves the desktop in the configured folder. Paths of client-side routes all get
// the index.
func (pg *pages) staticDesktop(c echo.Context) error {
	r := c.Request()
	name := strings.Trim(r.URL.Path, "/")
	if name == "api" || name == "ws" || strings.HasPrefix(name, "api/") || strings.HasPrefix(name, "ws/") {
		return echo.ErrNotFound
	}
	if name == "" {
		name = "index.html"
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\\x00") || part == "" {
			return echo.ErrNotFound
		}
	}
	f, info, err := openPlain(pg.dir, name)
	if err != nil && path.Ext(name) == "" && strings.Contains(r.Header.Get(echo.HeaderAccept), echo.MIMETextHTML) {
		name = "index.html"
		f, info, err = openPlain(pg.dir, name)
	}
	if err != nil && name == "favicon.ico" {
		return c.NoContent(http.StatusNoContent) // browsers request it even if a desktop has none
	}
	if err != nil {
		return echo.ErrNotFound
	}
	defer func() { _ = f.Close() }() // only read
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, web.MediaType(name))
	h.Set(echo.HeaderContentSecurityPolicy, desktopPolicy)
	h.Set("ETag", `"`+strconv.FormatInt(info.Size(), 36)+"-"+strconv.FormatInt(info.ModTime().UnixNano(), 36)+`"`)
	h.Set(echo.HeaderCacheControl, "no-cache")
	if path.Ext(name) != ".html" && isHashed(name) {
		h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	return httpio.ServeContent(c, info.ModTime(), f)
}

// openPlain opens a regular file in a folder. Symbolic links are followed, but not out of the
// folder.
func openPlain(dir, name string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenInRoot(dir, filepath.FromSlash(name))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = os.ErrNotExist
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, nil, err
	}
	return f, info, nil
}
