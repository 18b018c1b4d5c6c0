package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/mcpclient"
)

// viewPolicy is the content security policy of the frame for a view of an MCP server. Compared with
// framePolicy, scripts may evaluate text, run as workers and be imported from data: addresses, as libraries for
// maps, 3D and PDF do, which gives no access that inline scripts do not have. The declared origins are added.
const viewPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:%[1]s; style-src 'unsafe-inline' 'self'%[1]s; " +
	"img-src data: blob:%[1]s; font-src data:%[1]s; media-src data: blob:%[1]s; connect-src data: blob:%[2]s; worker-src blob:; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors %[3]s"

// Parameters of stageFile for views. The desktop page takes the origins from the hub, which has them from
// the server. Other pages cannot frame the stage, so that they gain nothing by naming origins.
const (
	viewParam     = "view"
	connectParam  = "connect"
	resourceParam = "resource"
	maxOrigins    = 32
)

// viewHeaders returns the content security policy and the Connection-Allowlist for a view, from the
// parameters of a request. Origins that views may not use are an error.
func viewHeaders(query url.Values, ancestors string) (policy, connections string, err error) {
	var sources [2]strings.Builder
	var allowed strings.Builder
	allowed.WriteString("(response-origin")
	for i, param := range []string{resourceParam, connectParam} {
		all := query[param]
		if len(all) > maxOrigins {
			return "", "", problem.Query(param, fmt.Sprintf("At most %d origins are possible.", maxOrigins)).WithStatus(http.StatusBadRequest)
		}
		for _, declared := range all {
			origin, ok := mcpclient.AllowedOrigin(declared, "https", "wss")
			if !ok {
				return "", "", problem.Query(param, "Views may not use that origin.").WithStatus(http.StatusBadRequest)
			}
			sources[i].WriteString(" " + origin)
			allowed.WriteString(` "` + origin + `"`)
		}
	}
	allowed.WriteString(")")
	return fmt.Sprintf(viewPolicy, sources[0].String(), sources[1].String(), ancestors), allowed.String(), nil
}
