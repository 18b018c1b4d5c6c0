// Package openapi has the types of the gateway's table of routes, and makes the OpenAPI
// document from it.
//
// Each package with handlers returns its routes as a list of [Route]; package gateway
// registers them with the router and passes the same list to [Document], so that the router
// and the description cannot differ. Schemas of bodies come from the formats of package wire
// and from doc tags.
package openapi
