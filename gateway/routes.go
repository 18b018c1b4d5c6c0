package gateway

import (
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// guard is the access check of a route.
type guard uint8

const (
	guardNone     guard = iota // none
	guardSocket                // WebSocket; the client authenticates in the handshake or in the first frame
	guardIdentity              // an authenticated caller
	guardAdmin                 // the role admin; others get 404
	guardRead                  // the role admin:read; others get 404
	guardAct                   // the role admin:act as well
)

// route is one line of the table from which both the router and the API description are made.
type route struct {
	method, path string
	guard        guard
	handler      echo.HandlerFunc
	tag          string
	summary      string
	// detail is the longer description, where the summary is not enough.
	detail  string
	query   []param
	headers []param
	body    *content
	answers []answer
}

// param describes a query parameter or a header.
type param struct {
	name, doc string
	// repeated says that the parameter may occur more than once.
	repeated bool
	// defaultValue makes the parameter an integer from 1 with that default; 0 means a string.
	defaultValue int
}

// content describes the body of a request or a response.
type content struct {
	media string
	typ   reflect.Type // nil for other bodies than JSON objects
	shape func() *wire.Shape
	// ref is the name of a definition of package wire, instead of a type.
	ref string
	// frames says that the body is a page of events.
	frames bool
	// optional says that the body may be omitted.
	optional bool
}

// answer describes a response of a route other than an error.
type answer struct {
	status  int
	doc     string
	content *content
	headers []param
}

// jsonBody describes a body that is a value of T.
func jsonBody[T any](f form[T]) *content {
	return &content{
		media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T](),
		shape: func() *wire.Shape { return f().Shape() },
	}
}

// optionalBody marks a body as optional.
func optionalBody(c *content) *content { c.optional = true; return c }

// bytesOf describes a body that is a file.
func bytesOf(media string) *content { return &content{media: media} }

func success(status int, doc string, c *content, headers ...param) []answer {
	return []answer{{status, doc, c, headers}}
}

func noContent(doc string) []answer { return []answer{{http.StatusNoContent, doc, nil, nil}} }

// problems describes the body of an error response.
func problems() *content {
	c := jsonBody(problemForm)
	c.media = problemType
	return c
}

// jsonOutput describes a response that is a value of T, a type without a [wire.Format].
func jsonOutput[T any]() *content {
	return &content{media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T]()}
}
