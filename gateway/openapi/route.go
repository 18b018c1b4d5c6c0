package openapi

import (
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// Guard is the access check of a route.
type Guard uint8

// The access checks.
const (
	GuardNone     Guard = iota // none
	GuardSocket                // WebSocket; the client authenticates in the handshake or in the first frame
	GuardIdentity              // an authenticated caller
	GuardAdmin                 // the role admin; others get 404
	GuardRead                  // the role admin:read; others get 404
	GuardAct                   // the role admin:act as well
	GuardAppPage               // the token of the page of an app, for the data of that app
)

// Route is one line of the table from which both the router and the API description are made.
type Route struct {
	Method, Path string
	Guard        Guard
	Handler      echo.HandlerFunc
	// Tag is the group of the route in the description.
	Tag     string
	Summary string
	// Detail is the longer description, where the summary is not enough.
	Detail  string
	Query   []Param
	Headers []Param
	Body    *Content
	Answers []Answer
}

// Param describes a query parameter or a header.
type Param struct {
	Name, Doc string
	// Repeated says that the parameter may occur more than once.
	Repeated bool
	// DefaultValue makes the parameter an integer from 1 with that default; 0 means a string.
	DefaultValue int
}

// Content describes the body of a request or a response.
type Content struct {
	Media string
	typ   reflect.Type // nil for other bodies than JSON objects
	shape func() *wire.Shape
	// Ref is the name of a definition of package wire, instead of a type.
	Ref string
	// Frames says that the body is a page of events.
	Frames bool
	// name is the name of the schema; empty means that of the type.
	name string
	// optional says that the body may be omitted.
	optional bool
}

// Answer describes a response of a route other than an error.
type Answer struct {
	Status  int
	Doc     string
	Content *Content
	Headers []Param
}

// JSONBody describes a body that is a value of T.
func JSONBody[T any](f func() wire.Format[T]) *Content {
	return &Content{
		Media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T](),
		shape: func() *wire.Shape { return f().Shape() },
	}
}

// Optional marks a body as optional.
func Optional(c *Content) *Content { c.optional = true; return c }

// Bytes describes a body that is a file.
func Bytes(media string) *Content { return &Content{Media: media} }

// Success describes the response of a route that has one besides errors.
func Success(status int, doc string, c *Content, headers ...Param) []Answer {
	return []Answer{{status, doc, c, headers}}
}

// NoContent describes a response without a body.
func NoContent(doc string) []Answer { return []Answer{{http.StatusNoContent, doc, nil, nil}} }

// Problems describes the body of an error response.
func Problems() *Content {
	c := JSONBody(problemForm)
	c.Media, c.name = problem.MediaType, "ProblemError"
	return c
}

// JSONOutput describes a response that is a value of T, a type without a [wire.Format].
func JSONOutput[T any]() *Content {
	return &Content{Media: echo.MIMEApplicationJSON, typ: reflect.TypeFor[T]()}
}
