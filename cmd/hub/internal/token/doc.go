// Package token has `hub token`, which creates, lists and revokes credentials:
//
//	hub token [--user NAME] [--role ROLE,…] [--ttl 1h] --key-file FILE [--key-id ID]
//	hub token url
//	hub token ticket --user NAME [--role ROLE,…] [--session ID]
//	hub token key --user NAME [--role ROLE,…] [--name TEXT] [--ttl 720h]
//	hub token keys
//	hub token revoke ID
//
// The first signs a token for hubs with --auth jwt; the file has a secret or a private key, and
// is that of --auth-keys unless given. The second prints the entry URL of the local hub. The
// others use the store, or the local hub while that has a file store open or, with --server URL
// and --token TOKEN (or HUB_TOKEN), any running hub. Stdout gets the secret and nothing else, so
// that it can be piped; the explanation goes to stderr.
package token
