package rest

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
)

// framedPagePolicy returns the content security policy of an app's page in a frame of a desktop of the desktop dialect: it
// has no origin, and connects to nothing but connect. The hub's own desktop shows apps on the apps' origin instead.
func framedPagePolicy(connect string) string {
	return "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
		"font-src data:; media-src data: blob:; connect-src " + connect + "; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
}

// isFramedPage reports whether a browser requests the page of an app for a frame.
func isFramedPage(c echo.Context, name string) bool {
	return path.Base(name) == apps.PageFile && c.Request().Header.Get("Sec-Fetch-Dest") == "iframe"
}

// sendFramedPage sends the page of an app of a user for a frame of a desktop of the desktop dialect. Such a desktop writes
// the API of apps into pages of its own origin, which this page has not, so the hub does.
func (ah *appHandlers) sendFramedPage(c echo.Context, user, app string, page []byte) error {
	if len(ah.script) == 0 {
		return sendAppFile(c, apps.PageFile, page)
	}
	token, err := ah.pageToken(c, user, app)
	if err != nil {
		return err
	}
	connect, attributes := "'none'", ""
	allowed := "()"
	if token != "" {
		data := ah.hosts.Origin(c.Request()) + access.PathAppPageData
		connect, allowed = data+" "+data+"/", "(response-origin)"
		attributes = fmt.Sprintf(` data-data="%s" data-token="%s"`, html.EscapeString(data), html.EscapeString(token))
	}
	h := c.Response().Header()
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, framedPagePolicy(connect))
	h.Set("Connection-Allowlist", allowed)
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set(echo.HeaderCacheControl, "no-store") // the token is in it
	return c.HTMLBlob(http.StatusOK, withScript(page, attributes, ah.script))
}

// pageToken returns a token for the caller's data of an app, or "" for a caller that may not use it. The page of another
// user gets none: that user wrote its script.
func (ah *appHandlers) pageToken(c echo.Context, user, app string) (string, error) {
	who := access.Caller(c)
	if who.User != user || !who.Has(auth.RoleUser) || who.Session != "" || who.Link != "" || who.Key != "" {
		return "", nil
	}
	return ah.auth.NewAppPageToken(c.Request().Context(), who, app)
}

// withScript returns an HTML document with a script that runs before all others. Anything before the document type would
// turn it into a document without one.
func withScript(page []byte, attributes string, script []byte) []byte {
	kind, rest := []byte("<!doctype html>"), page
	if start := bytes.TrimLeft(page, " \t\r\n\f\uFEFF"); len(start) >= 9 && bytes.EqualFold(start[:9], []byte("<!doctype")) {
		if end := bytes.IndexByte(start, '>'); end >= 0 {
			kind, rest = start[:end+1], start[end+1:]
		}
	}
	return bytes.Join([][]byte{kind, []byte("<script" + attributes + ">"), script, []byte("</script>"), rest}, nil)
}
