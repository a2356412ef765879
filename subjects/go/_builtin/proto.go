package main

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/gen/pb/followerspb"
	"rpcgauge/subjects/go/gen/pb/hellopb"
	"rpcgauge/subjects/go/gen/pb/listpb"
	"rpcgauge/subjects/go/gen/pb/profilepb"
	"rpcgauge/subjects/go/gen/pb/recordspb"
	"rpcgauge/subjects/go/internal/bind"
)

// itemStreams are the methods of the workload items that stream, by their form.
var itemStreams = map[string]string{
	"server":        "/ItemService/ListItems",
	"client":        "/ItemService/PutItems",
	"bidirectional": "/ItemService/ExchangeItems",
}

// services contains the built-in workloads by name (contract/workloads.md).
var services = map[string]bind.Service{
	"echo":  {Path: "/several/data", Method: "/several.SeveralService/GetSeveralData", Proto: echoProto, Plain: echoPlain},
	"hello": {Path: "/hello", Method: "/hello.Hello/SayHello", Proto: helloProto, Plain: helloPlain},
	"list":  {Path: "/example/list", Method: "/ExampleService/ExampleResponse1List", Proto: listProto, Plain: listPlain},
	"items": {Path: "/items", Method: "/ItemService/GetItem", Proto: itemsProto, Plain: itemsPlain,
		Streams: itemStreams, ProtoSeries: itemSeriesProto, PlainSeries: itemSeriesPlain},
	"records":   {Path: "/records", Method: "/records.RecordService/GetRecords", Proto: recordsProto, Plain: recordsPlain},
	"profile":   {Path: "/members/profile", Method: "/GetMemberProfileService/GetMemberProfileCall", Proto: profileProto, Plain: profilePlain},
	"followers": {Path: "/members/followers", Method: "/GetFollowerService/GetFollowerCall", Proto: followersProto, Plain: followersPlain},
}

func echoProto(int) (bind.ProtoHandler, error) {
	return func(request proto.Message) (proto.Message, error) { return request, nil }, nil
}

func helloProto(int) (bind.ProtoHandler, error) {
	return func(request proto.Message) (proto.Message, error) {
		name := request.(*hellopb.HelloRequest).GetName()
		return &hellopb.HelloReply{Message: "Hello, " + name + "."}, nil
	}, nil
}

func listProto(n int) (bind.ProtoHandler, error) {
	if err := kept(n, mostItems); err != nil {
		return nil, err
	}
	response := itemListProto(n)
	return func(request proto.Message) (proto.Message, error) {
		asked := int(request.(*listpb.ExampleRequest).GetId())
		if asked == n {
			return response, nil
		}
		if err := within("id", asked, 0, mostItems); err != nil {
			return nil, err
		}
		return itemListProto(asked), nil
	}, nil
}

func itemsProto(int) (bind.ProtoHandler, error) {
	series := itemSeriesProto()
	return func(request proto.Message) (proto.Message, error) { return series(request, 0) }, nil
}

// itemSeriesProto returns a function that returns the item with the id of the request, or the k-th one after it. The
// first items are built once.
func itemSeriesProto() bind.ProtoSeries {
	items := itemListProto(keptItems).GetResponse()
	return func(request proto.Message, k int) (proto.Message, error) {
		asked := int(request.(*listpb.ExampleRequest).GetId())
		if err := within("id", asked, 1, mostItems); err != nil {
			return nil, err
		}
		number := asked + k
		if number > len(items) {
			return itemProto(number), nil
		}
		return items[number-1], nil
	}
}

func itemListProto(n int) *listpb.ExampleResponse1Array {
	items := make([]*listpb.ExampleResponse1, n)
	for i := range items {
		items[i] = itemProto(i + 1)
	}
	return &listpb.ExampleResponse1Array{Response: items}
}

func itemProto(i int) *listpb.ExampleResponse1 {
	number := int32(i)
	return &listpb.ExampleResponse1{
		Id:     number,
		Common: &listpb.ExampleCommonMessage{Id: number},
		Message: &listpb.ExampleMessage{
			Double:  float64(number) + 0.5,
			Float:   float32(number) + 0.5,
			Int:     number,
			Long:    int64(number),
			Boolean: true,
			String_: fmt.Sprintf("string%d", number),
			Enum:    listpb.ExampleEnum_ONE,
			Map:     map[string]int32{fmt.Sprintf("key%d", number): number},
		},
		Description: fmt.Sprintf("description%d", number),
	}
}

func recordsProto(n int) (bind.ProtoHandler, error) {
	rows, err := readRows()
	if err != nil {
		return nil, err
	}
	all := make([]*recordspb.Record, len(rows))
	for i, row := range rows {
		all[i] = &recordspb.Record{
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
	response := &recordspb.RecordsReply{Records: all[:n]}
	return func(request proto.Message) (proto.Message, error) {
		asked := int(request.(*recordspb.RecordsRequest).GetCount())
		if asked == n {
			return response, nil
		}
		if err := within("count", asked, 0, len(all)); err != nil {
			return nil, err
		}
		return &recordspb.RecordsReply{Records: all[:asked]}, nil
	}, nil
}

func profileProto(int) (bind.ProtoHandler, error) {
	return func(request proto.Message) (proto.Message, error) {
		id := request.(*profilepb.GetMemberProfileRequest).GetUserId()
		return &profilepb.GetMemberProfileResponse{Info: &profilepb.GetMemberProfileInfo{
			Id:           id,
			Email:        fmt.Sprintf("m%d@uni.edu", id),
			ProfileImage: fmt.Sprintf("%d.png", id),
			Nickname:     fmt.Sprintf("m%d", id),
		}}, nil
	}, nil
}

func followersProto(n int) (bind.ProtoHandler, error) {
	return func(request proto.Message) (proto.Message, error) {
		ids, err := followerIDs(request.(*followerspb.GetFollowerRequest).GetUserId(), n)
		if err != nil {
			return nil, err
		}
		return &followerspb.GetFollowerResponse{UserId: ids}, nil
	}, nil
}
