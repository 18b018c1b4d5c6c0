package main

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"

	"github.com/everdesk/everdesk/browser"
	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/tools"
)

// newBrowsers returns the browsers of agents; nil if there are none, which the log explains.
func newBrowsers(cfg agentConfig, domains *fetch.Domains, log *slog.Logger) *browser.Manager {
	path, err := findBrowser(cfg)
	if err != nil {
		log.Info("agents have no browser", "reason", err)
		return nil
	}
	return browser.New(browser.Config{Path: path, Domains: domains, Hosts: cfg.webHosts, NoSandbox: !cfg.browserSandbox, Logger: log})
}

// findBrowser returns the path of the browser, or why there is none.
func findBrowser(cfg agentConfig) (string, error) {
	switch {
	case cfg.browser == "off":
		return "", errors.New("--browser is off")
	case cfg.browserSandbox && os.Geteuid() == 0:
		return "", errors.New("the sandbox of Chromium does not work for root; run the hub as another user, or set --browser-sandbox off")
	case cfg.browser == "auto":
		return browser.Find()
	}
	return exec.LookPath(cfg.browser)
}

// browserTools returns the browser as tools use it. A nil manager gives none.
func browserTools(m *browser.Manager) tools.Browser {
	if m == nil {
		return tools.Browser{}
	}
	return tools.Browser{Pages: m, Input: m}
}
