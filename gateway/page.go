package gateway

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// pages serve the pages of browsers: the desktop, the sign-in page and the admin page.
type pages struct {
	log           *slog.Logger
	auth          *auth.Authority
	hosts         *access.Hosts
	authenticator *access.Authenticator
	ready         *readiness
	apps          *appsServer
	version       string
	frameBytes    int64
	// One of the following serves the desktop: a folder, a development server, or embedded files.
	dir     string
	dev     *httputil.ReverseProxy // nil without [Config].WebDev
	desktop *web.Site
	// stopping ends when the server closes its connections, and with it those to dev.
	stopping context.Context //nolint:containedctx // has the lifetime of the server
	// adminPage holds the files of the admin page, and adminEcho is the router of the separate admin
	// listener; nil means none.
	adminPage *web.Site
	adminEcho *echo.Echo
}

//go:embed status.html
var statusHTML string

// pageTexts are the texts of the sign-in page.
type pageTexts struct {
	lang, title, ready, storeUnavailable, storeFull, shuttingDown  string
	byLink, byToken, badLink, refused, tooManyAttempts, signedInAs string
	notForYou                                                      string
	token, signIn, desktop, health, readiness                      string
}

var english = pageTexts{
	lang: "en", title: "Sign in · Everdesk", ready: "This hub is ready.", storeUnavailable: wire.CodeStoreUnavailable.Info().Message,
	storeFull:    problem.StoreFull,
	shuttingDown: "This hub is shutting down.", byLink: "Sign in with the URL that the hub printed when it started, or with its token.",
	byToken: "Sign in with your token.", badLink: "That link does not sign in. Type the token instead.",
	refused: "That token was not accepted.", tooManyAttempts: "Too many attempts. Wait a moment and try again.", signedInAs: "You are signed in as %s.",
	notForYou: "You are signed in as %s, who may not see this page. Another token may.",
	token:     "Token", signIn: "Sign in", desktop: "Open the desktop", health: "Health", readiness: "Readiness",
}

var korean = pageTexts{ //nolint:gosec // words about tokens
	lang: "ko", title: "로그인 · Everdesk", ready: "허브가 준비되어 있어요.", storeUnavailable: "허브가 저장소에 연결하지 못하고 있어요. 계속 다시 시도하고 있고, 사라지는 것은 없어요.",
	storeFull:    "저장소가 가득 찼어요. 잠시 후에 다시 시도해 주세요.",
	shuttingDown: "허브가 종료되고 있어요.", byLink: "허브를 시작할 때 표시된 주소를 열거나, 토큰을 입력해 로그인해 주세요.",
	byToken: "토큰을 입력해 로그인해 주세요.", badLink: "이 링크로는 로그인할 수 없어요. 토큰을 직접 입력해 주세요.",
	refused: "토큰이 맞지 않아요. 다시 확인해 주세요.", tooManyAttempts: "시도가 너무 많았어요. 잠시 후에 다시 시도해 주세요.", signedInAs: "로그인되어 있어요: %s",
	notForYou: "이 계정으로는 이 페이지를 볼 수 없어요: %s. 다른 토큰으로 로그인해 주세요.",
	token:     "토큰", signIn: "로그인", desktop: "데스크톱 열기", health: "상태", readiness: "준비 상태",
}

// textsFor returns the texts in the preferred language of a browser.
func textsFor(r *http.Request) pageTexts {
	best, rank := english, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			q, _ = strconv.ParseFloat(text, 64) // invalid numbers count as 0
		}
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, t := range []pageTexts{english, korean} {
			if t.lang == primary && q > rank {
				best, rank = t, q
			}
		}
	}
	return best
}

// signInPage serves the sign-in page with the hub's readiness.
func (pg *pages) signInPage(c echo.Context) error { return pg.renderSignInPage(c, http.StatusOK, "") }

// renderSignInPage serves the sign-in page with a notice about an attempt to sign in or about the
// caller.
func (pg *pages) renderSignInPage(c echo.Context, status int, notice string) error {
	words := textsFor(c.Request())
	state := words.ready
	if p := pg.ready.check(c.Request().Context()); p != nil {
		switch {
		case pg.ready.draining():
			state = words.shuttingDown
		case p.Detail == problem.StoreFull:
			state = words.storeFull
		case p.Detail == problem.OtherFiles: // only cold sessions need it
		default:
			state = words.storeUnavailable
		}
	}
	greeting, tone, hidden, closed := "", "", " hidden", " hidden"
	if id, err := pg.authenticator.Identify(c); err == nil {
		greeting = strings.Replace(cmp.Or(notice, words.signedInAs), "%s", id.User, 1)
		if (pg.hasDesktop() || pg.dir != "") && c.Echo() != pg.adminEcho {
			closed = ""
		}
		if notice != "" {
			hidden = ""
		}
	} else if _, denied := errors.AsType[*auth.Error](err); denied {
		greeting, hidden = cmp.Or(notice, words.signInHint(pg.auth.Mode())), ""
	}
	if notice != "" {
		tone = ` class="wrong" role="alert"`
	}
	rest := html.EscapeString(queryWithoutToken(c))
	action, open := "/login", "/"+rest
	if front := signInTarget(c); front != "/" {
		action, open = front, "/"
	}
	// No template: html/template makes the linker keep every method of the program, see
	// internal/arch.
	page := strings.NewReplacer(
		"{{lang}}", words.lang, "{{title}}", words.title, "{{state}}", state, "{{greeting}}", html.EscapeString(greeting), "{{tone}}", tone,
		"{{open}}", open, "{{closed}}", closed, "{{desktop}}", words.desktop, "{{action}}", action+rest, "{{hidden}}", hidden,
		"{{token}}", words.token, "{{enter}}", words.signIn, "{{health}}", words.health, "{{readiness}}", words.readiness,
		"{{version}}", html.EscapeString(pg.version),
	)
	c.Response().Header().Add(echo.HeaderVary, "Accept-Language")
	return c.HTML(status, page.Replace(statusHTML))
}

// signInHint returns the text that explains how to sign in.
func (t pageTexts) signInHint(mode auth.Mode) string {
	if mode == auth.ModeToken {
		return t.byLink
	}
	return t.byToken
}

// signInError returns the text for a failed attempt to sign in.
func (t pageTexts) signInError(p *problem.Error) string {
	switch {
	case p.Status == http.StatusTooManyRequests:
		return t.tooManyAttempts
	case p.Status == http.StatusUnauthorized || t.lang != english.lang:
		return t.refused
	default: // the detail has the reason, such as that keys are for programs
		return p.Detail
	}
}
