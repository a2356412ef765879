package main

import (
	"fmt"

	"rpcgauge/subjects/go/gen/plain"
	"rpcgauge/subjects/go/internal/bind"
)

func echoPlain(int) (bind.PlainHandler, error) {
	return func(request any) (any, error) { return request, nil }, nil
}

func helloPlain(int) (bind.PlainHandler, error) {
	return func(request any) (any, error) {
		return &plain.HelloReply{Message: "Hello, " + request.(*plain.HelloRequest).Name + "."}, nil
	}, nil
}

func listPlain(n int) (bind.PlainHandler, error) {
	if err := kept(n, mostItems); err != nil {
		return nil, err
	}
	response := itemListPlain(n)
	return func(request any) (any, error) {
		asked := int(request.(*plain.ExampleRequest).Id)
		if asked == n {
			return response, nil
		}
		if err := within("id", asked, 0, mostItems); err != nil {
			return nil, err
		}
		return itemListPlain(asked), nil
	}, nil
}

func itemsPlain(int) (bind.PlainHandler, error) {
	series := itemSeriesPlain()
	return func(request any) (any, error) { return series(request, 0) }, nil
}

// itemSeriesPlain returns a function that returns the item with the id of the request, or the k-th one after it. The
// first items are built once.
func itemSeriesPlain() bind.PlainSeries {
	items := itemListPlain(keptItems).Response
	return func(request any, k int) (any, error) {
		asked := int(request.(*plain.ExampleRequest).Id)
		if err := within("id", asked, 1, mostItems); err != nil {
			return nil, err
		}
		number := asked + k
		if number > len(items) {
			item := itemPlain(number)
			return &item, nil
		}
		return &items[number-1], nil
	}
}

func itemListPlain(n int) *plain.ExampleResponse1Array {
	items := make([]plain.ExampleResponse1, n)
	for i := range items {
		items[i] = itemPlain(i + 1)
	}
	return &plain.ExampleResponse1Array{Response: items}
}

func itemPlain(i int) plain.ExampleResponse1 {
	number := int32(i)
	return plain.ExampleResponse1{
		Id:     number,
		Common: &plain.ExampleCommonMessage{Id: number},
		Message: &plain.ExampleMessage{
			Double:  float64(number) + 0.5,
			Float:   float32(number) + 0.5,
			Int:     number,
			Long:    int64(number),
			Boolean: true,
			String_: fmt.Sprintf("string%d", number),
			Enum:    "ONE",
			Map:     map[string]int32{fmt.Sprintf("key%d", number): number},
		},
		Description: fmt.Sprintf("description%d", number),
	}
}

func recordsPlain(n int) (bind.PlainHandler, error) {
	rows, err := readRows()
	if err != nil {
		return nil, err
	}
	all := make([]plain.Record, len(rows))
	for i, row := range rows {
		all[i] = plain.Record{
			AirportName:             row.text(0),
			AircraftMakeModel:       row.text(1),
			EffectAmountOfDamage:    row.text(2),
			FlightDate:              row.text(3),
			AircraftAirlineOperator: row.text(4),
			OriginState:             row.text(5),
			PhaseOfFlight:           row.text(6),
			WildlifeSize:            row.text(7),
			WildlifeSpecies:         row.text(8),
			TimeOfDay:               row.text(9),
			CostOther:               row.number(10),
			CostRepair:              row.number(11),
			CostTotal:               row.number(12),
			SpeedIasInKnots:         row.number(13),
		}
	}
	if err := kept(n, len(all)); err != nil {
		return nil, err
	}
	response := &plain.RecordsReply{Records: all[:n]}
	return func(request any) (any, error) {
		asked := int(request.(*plain.RecordsRequest).Count)
		if asked == n {
			return response, nil
		}
		if err := within("count", asked, 0, len(all)); err != nil {
			return nil, err
		}
		return &plain.RecordsReply{Records: all[:asked]}, nil
	}, nil
}

func profilePlain(int) (bind.PlainHandler, error) {
	return func(request any) (any, error) {
		id := request.(*plain.GetMemberProfileRequest).UserId
		return &plain.GetMemberProfileResponse{Info: &plain.GetMemberProfileInfo{
			Id:           id,
			Email:        fmt.Sprintf("m%d@uni.edu", id),
			ProfileImage: fmt.Sprintf("%d.png", id),
			Nickname:     fmt.Sprintf("m%d", id),
		}}, nil
	}, nil
}

func followersPlain(n int) (bind.PlainHandler, error) {
	return func(request any) (any, error) {
		ids, err := followerIDs(request.(*plain.GetFollowerRequest).UserId, n)
		if err != nil {
			return nil, err
		}
		return &plain.GetFollowerResponse{UserId: ids}, nil
	}, nil
}
