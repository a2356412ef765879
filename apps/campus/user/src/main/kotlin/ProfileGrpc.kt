package campus.user

import campus.contract.MemberProfile
import campus.contract.grpc.GetMemberProfileInfo
import campus.contract.grpc.GetMemberProfileRequest
import campus.contract.grpc.GetMemberProfileResponse
import campus.contract.grpc.GetMemberProfileServiceGrpc.GetMemberProfileServiceImplBase
import io.grpc.stub.StreamObserver
import org.springframework.grpc.server.service.GrpcService

@GrpcService
class ProfileGrpc(private val profiles: Profiles) : GetMemberProfileServiceImplBase() {
    override fun getMemberProfileCall(
        request: GetMemberProfileRequest,
        observer: StreamObserver<GetMemberProfileResponse>,
    ) {
        observer.onNext(GetMemberProfileResponse.newBuilder().setInfo(profiles.of(request.userId).toProto()).build())
        observer.onCompleted()
    }
}

private fun MemberProfile.toProto(): GetMemberProfileInfo {
    val info = GetMemberProfileInfo.newBuilder().setId(id).setEmail(email).setNickname(nickname)
    profileImage?.let(info::setProfileImage)
    return info.build()
}
