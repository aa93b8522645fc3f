// A push service on Go's net/http for the transport's tests. It answers 201, and says in its header fields what it
// got: the length and SHA-256 of the body, the path, and the protocol.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
)

func main() {
	handler := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		digest := sha256.Sum256(body)
		header := response.Header()
		header.Set("Location", request.RequestURI)
		header.Set("X-Length", strconv.Itoa(len(body)))
		header.Set("X-Sha256", hex.EncodeToString(digest[:]))
		header.Set("X-Protocol", request.Proto)
		header.Set("X-Ttl", request.Header.Get("Ttl"))
		response.WriteHeader(http.StatusCreated)
	})
	log.Fatal(http.ListenAndServeTLS(os.Args[1], "cert.pem", "key.pem", handler))
}
