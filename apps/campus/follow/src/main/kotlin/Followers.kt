package campus.follow

import campus.contract.Followers
import campus.contract.InnerPaths
import campus.contract.grpc.GetFollowerRequest
import campus.contract.grpc.GetFollowerResponse
import campus.contract.grpc.GetFollowerServiceGrpc.GetFollowerServiceImplBase
import campus.service.InnerHandler
import io.grpc.stub.StreamObserver
import jakarta.validation.constraints.Positive
import org.springframework.grpc.server.service.GrpcService
import org.springframework.stereotype.Service
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RestController

/** The inner call, by REST and by gRPC. A member whom nobody follows, or who is not there, has no followers. */
@Service
class FollowerIds(members: MemberNodeRepository, inner: InnerHandler) {
    val of: (Long) -> List<Long> = inner.of("followers", members::findFollowerIds)
}

@RestController
class FollowerController(private val followers: FollowerIds) {
    @GetMapping(InnerPaths.FOLLOWERS)
    fun followers(@PathVariable @Positive id: Long) = Followers(followers.of(id))
}

@GrpcService
class FollowerGrpc(private val followers: FollowerIds) : GetFollowerServiceImplBase() {
    override fun getFollowerCall(request: GetFollowerRequest, observer: StreamObserver<GetFollowerResponse>) {
        observer.onNext(GetFollowerResponse.newBuilder().addAllUserId(followers.of(request.userId)).build())
        observer.onCompleted()
    }
}
