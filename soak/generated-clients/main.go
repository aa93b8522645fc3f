// Lists, creates and reads with a client that oapi-codegen has generated into this package.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

const request = `{
	"audience": {"tags": {"any": ["news"]}},
	"message": {"title": "Ding dong", "message": "Tea is ready"},
	"urgency": "high"
}`

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client, err := NewClientWithResponses(os.Getenv("API"), WithRequestEditorFn(authorize))
	check(err)
	ctx := context.Background()
	made, err := client.CreateBroadcastWithBodyWithResponse(ctx, nil, "application/json", strings.NewReader(request))
	check(err)
	read, err := client.GetBroadcastWithResponse(ctx, made.JSON201.Id)
	check(err)
	page, err := client.ListBroadcastsWithResponse(ctx, nil)
	check(err)
	audience, err := read.JSON200.Audience.AsMatchingAudience()
	check(err)
	fmt.Println(made.JSON201.Id, *read.JSON200.Title, *read.JSON200.Urgency, *audience.Tags.Any)
	ids := []int{}
	for _, each := range page.JSON200.Items {
		ids = append(ids, each.Id)
	}
	list, err := page.JSON200.Items[len(ids)-2].Audience.AsAskedList()
	check(err)
	fmt.Println(ids, list.List)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
