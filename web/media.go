package web

import (
	"path"
	"strings"
)

// mediaTypes are the media types of page files and common uploads. The system's table differs from
// machine to machine.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".webmanifest": "application/manifest+json",
	".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8",
	".csv": "text/csv; charset=utf-8", ".xml": "text/xml; charset=utf-8", ".pdf": "application/pdf",
	".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg",
	".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf",
	".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav", ".mp4": "video/mp4", ".webm": "video/webm",
	".zip": "application/zip",
}

// MediaType returns the media type for the extension of a file name, or application/octet-stream.
func MediaType(name string) string {
	if media, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return media
	}
	return "application/octet-stream"
}
