// pgx with a URI as it is: the first argument.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	connection, err := pgx.Connect(context.Background(), os.Args[1])
	if err == nil {
		var user string
		err = connection.QueryRow(context.Background(), "SELECT current_user").Scan(&user)
		fmt.Println(user)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
