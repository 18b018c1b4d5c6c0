package gateway

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// serveMCP lets an agent in that runs outside the hub. It shows a badge of its
// own, which the endpoint asks for; who has none learns nothing. It is not in the
// API description: MCP describes itself.
//
// A tool may wait for an answer of the user, so nothing limits how long the
// answer to a call may take but the tool itself.
func (s *Server) serveMCP(c echo.Context) error {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}) // a transport without deadlines needs none lifted
	s.mcp.ServeHTTP(c.Response(), c.Request())
	return nil
}
